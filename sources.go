// Package sources has the sources of the packages whose types and options package catalog lists, so that what it says of
// them is what their comments say.
package sources

import "embed"

// Files are the Go files, by path.
//
//go:embed datasets/*.go datasets/partition/*.go fedkit/*.go fedkit/aggregate/*.go fedkit/attack/*.go fedkit/catalog/*.go
//go:embed fedkit/cluster/*.go fedkit/examples/*.go fedkit/metric/*.go fedkit/model/*.go fedkit/selection/*.go
//go:embed fedkit/server/*.go fedkit/strategy/*.go
var Files embed.FS
