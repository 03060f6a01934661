// Benchmarks are a module of their own, so that ./... of fedkit does not build them.
module fedkit.example/scripts/benchmark

replace fedkit.example => ../..

go 1.26.5

require (
	fedkit.example v0.0.0-00010101000000-000000000000
	github.com/gomlx/compute v0.1.0
	github.com/gomlx/gomlx v0.28.1
	github.com/janpfeifer/must v0.2.0
	gonum.org/v1/gonum v0.16.0
)

require (
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/gofrs/flock v0.13.0 // indirect
	github.com/gofrs/uuid v4.4.0+incompatible // indirect
	github.com/gomlx/go-xla v0.4.0 // indirect
	github.com/google/renameio/v2 v2.0.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/janpfeifer/gonb v0.11.4 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/exp v0.0.0-20260410095643-746e56fc9e2f // indirect
	golang.org/x/image v0.26.0 // indirect
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
)
