// Command benchmark runs one task, some rounds of FedAvg, and prints one line of JSON. See scripts/bench.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/worker"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/janpfeifer/must"
)

func main() {
	worker.Main()
	begin := time.Now()
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	workers := flag.Int("workers", 0, "programs in flight at once")
	rounds := flag.Int("rounds", 21, "rounds")
	seed := flag.Uint64("seed", 0, "for everything that is random")
	flag.Parse()

	switch task := flag.Arg(0); task {
	case "server":
		matrices()
		return
	case "cluster", "cluster-device":
		clusters(task)
		return
	case "cluster-10000":
		linkages()
		return
	case "cluster-round":
		clusterRounds()
		return
	case "asynchronous":
		asynchronous()
		return
	case "workers":
		workersAdd()
		return
	case "groups":
		findGroups()
		return
	case "study":
		compute(flag.Arg(1))
		return
	case "rows":
		rows()
		return
	case "evaluate":
		fed := must.M1(fedkit.New(must.M1(datasets.MNIST()), partition.IID{Clients: 100}, model.MLP(128, 64)))
		must.M1(fedkit.Run(context.Background(), fed, evaluate{}, fedkit.Options{Rounds: 1, Concurrency: *workers}))
		return
	}
	data, clients, network, avg := datasets.MNIST, 100, model.MLP(128, 64), &strategy.FedAvg{}
	switch task := flag.Arg(0); task {
	case "mnist-mlp": // 100 clients × 600, 10 per round, 18 full batches of 32
		avg = &strategy.FedAvg{Fraction: 0.1, Local: fedkit.Local{Steps: 18, Batch: 32, LR: 0.1}}
	case "cohort-10", "cohort-100", "cohort-1000": // of 1000 clients × 60, 3 batches of 20
		clients = 1000
		n := must.M1(strconv.Atoi(strings.TrimPrefix(task, "cohort-")))
		avg = &strategy.FedAvg{Fraction: float64(n) / 1000, Local: fedkit.Local{Batch: 20, LR: 0.1}}
	case "population": // 10,000 clients × 6
		clients = 10000
		avg = &strategy.FedAvg{Fraction: 0.001, Local: fedkit.Local{Batch: 6, LR: 0.1}}
	case "lenet-10", "lenet-100", "lenet-1000": // of 1000 clients × 50, 5 batches of 10
		data, clients, network = datasets.Name("cifar-10").Make, 1000, model.LeNet()
		n := must.M1(strconv.Atoi(strings.TrimPrefix(task, "lenet-")))
		avg = &strategy.FedAvg{Fraction: float64(n) / 1000, Local: fedkit.Local{Batch: 10, LR: 0.1}}
	case "cifar-lenet": // 1000 clients × 50, 50 per round, 5 batches of 10
		data, clients, network = datasets.Name("cifar-10").Make, 1000, model.LeNet()
		avg = &strategy.FedAvg{Fraction: 0.05, Local: fedkit.Local{Batch: 10, LR: 0.1}}
	case "femnist-cnn", "femnist-cnn-gomlx": // MNIST, 200 clients × 300, 5 per round, 6 batches of 50
		clients, network = 200, either(task, model.CNN(), cnn)
		avg = &strategy.FedAvg{Fraction: 0.025, Local: fedkit.Local{Batch: 50, LR: 0.1}}
	case "cifar-resnet8", "cifar-resnet8-gomlx": // 200 clients × 250, 4 per round, 5 batches of 50
		data, clients, network = datasets.Name("cifar-10").Make, 200, either(task, model.ResNet8(), resNet8)
		avg = &strategy.FedAvg{Fraction: 0.02, Local: fedkit.Local{Batch: 50, LR: 0.1}}
	case "cifar-resnet18", "cifar-resnet18-10": // of 1000 clients, 4 or 10 per round, 2 batches of 10
		data, clients, network = datasets.Name("cifar-10").Make, 1000, model.ResNet18()
		n := map[string]float64{"cifar-resnet18": 4, "cifar-resnet18-10": 10}[task]
		avg = &strategy.FedAvg{Fraction: n / 1000, Local: fedkit.Local{Steps: 2, Batch: 10, LR: 0.01}}
	case "emnist-cnn": // MNIST, 600 clients × 100, 10 per round, 5 batches of 20
		clients, network = 600, model.EMNISTCNN()
		avg = &strategy.FedAvg{Fraction: 1. / 60, Local: fedkit.Local{Batch: 20, LR: 0.1}}
	case "chars-lstm", "chars-transformer": // 100 clients × 20 texts of 80 characters, 10 per round, 2 batches of 10
		data, network = text(80, 90), model.LSTM(90, 8, 256, 256)
		if task == "chars-transformer" {
			network = model.Transformer{Vocabulary: 90}.Model()
		}
		avg = &strategy.FedAvg{Fraction: 0.1, Local: fedkit.Local{Batch: 10, LR: 0.1}}
	case "words-transformer": // 100 clients × 20 texts of 20 words, 10 per round, 2 batches of 10
		data, network = text(20, 10004), model.Transformer{Vocabulary: 10004}.Model()
		avg = &strategy.FedAvg{Fraction: 0.1, Local: fedkit.Local{Batch: 10, LR: 0.1}}
	default:
		fmt.Fprintf(os.Stderr, "no task %q\n", task)
		os.Exit(2)
	}
	examples := must.M1(data())
	if strings.HasPrefix(flag.Arg(0), "cifar-resnet18") { // 10,000 would take as long as forty rounds
		t := &examples.Test
		t.Bytes, t.Labels = t.Bytes[:1000*examples.Features()], t.Labels[:1000]
	}
	made := time.Now()
	fed := must.M1(fedkit.New(examples, partition.IID{Clients: clients}, network))
	took := time.Since(made)
	ready := time.Since(begin)
	if *profile != "" {
		must.M(pprof.StartCPUProfile(must.M1(os.Create(*profile))))
		defer pprof.StopCPUProfile()
	}
	h, err := fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: *rounds, EvalEvery: *rounds, Concurrency: *workers, Seed: *seed})
	if err != nil { // no such device, say
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var ms []float64
	for _, r := range h.Rounds[1:] {
		ms = append(ms, 1000*r.Seconds)
	}
	slices.Sort(ms)
	must.M(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"peer": "fedkit", "task": flag.Arg(0), "rounds": *rounds, "ms_per_round": ms[len(ms)/2],
		"first_round_s": h.Rounds[0].Seconds, "total_s": time.Since(begin).Seconds(),
		"set_up_s": ready.Seconds(), "new_s": took.Seconds(), "test_accuracy": h.Accuracy(), "peak_rss_mb": peak(),
	}))
}

// matrices times what the server does with the clients' rows U [100, 1,000,000].
func matrices() {
	const n, d = 100, 1_000_000
	rng := fedkit.Random(0, "server")
	values, weights := make([]float32, n*d), make([]float64, n)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	for i := range weights {
		weights[i] = rng.Float64()
	}
	u := fedkit.NewMatrix(values, n, d)
	result := map[string]any{"peer": "fedkit", "task": "server"}
	for name, f := range map[string]func() error{
		"mean":   func() error { return there(aggregate.Mean{}.Aggregate(u, weights)) },
		"median": func() error { return there(aggregate.Median{}.Aggregate(u, nil)) },
		"gram":   func() error { _, err := u.Gram(); return err },
	} {
		must.M(f()) // compiles
		var ms []float64
		for range 5 {
			begin := time.Now()
			must.M(f())
			ms = append(ms, float64(time.Since(begin).Microseconds())/1000)
		}
		slices.Sort(ms)
		result[name+"_ms"] = ms[2]
	}
	must.M(json.NewEncoder(os.Stdout).Encode(result))
}

// there waits for a result by reading its first value. The rest stays on the device, as in a round.
func there(m *fedkit.Matrix) error {
	_, err := m.Apply(first).Host()
	return err
}

var first = fedkit.NewProgram("first", func(a []*graph.Node) *graph.Node {
	return graph.Slice(a[0], graph.AxisElem(0), graph.AxisElem(0))
})

// evaluate times IFCA's step, 4 models on every client's training examples, and the matrix products it consists of.
type evaluate struct{}

func (evaluate) Start(*fedkit.Round) error { return nil }

func (evaluate) Round(r *fedkit.Round) error {
	models := r.Models(4)
	x := fedkit.NewMatrix(make([]float32, 10_000*784), 10_000, 784)
	result := map[string]any{"peer": "fedkit", "task": "evaluate"}
	for name, f := range map[string]func(){
		"evaluate": func() { r.Losses(models, datasets.TrainPart, r.AllClients()) },
		"products": func() {
			for range 6 {
				must.M1(x.Apply(products).Host())
			}
		},
	} {
		f() // compiles
		var ms []float64
		for range 5 {
			begin := time.Now()
			f()
			ms = append(ms, float64(time.Since(begin).Microseconds())/1000)
		}
		slices.Sort(ms)
		result[name+"_ms"] = ms[2]
	}
	must.M(json.NewEncoder(os.Stdout).Encode(result))
	return r.Err()
}

func (evaluate) Serve(r *fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: r.Models(1)} }

// products computes the matrix products of 4 models 784-128-64-10 on x [n, 784], and nothing else.
var products = fedkit.NewProgram("products", func(a []*graph.Node) *graph.Node {
	g := a[0].Graph()
	h := graph.Dot(a[0], graph.Ones(g, shapes.Make(a[0].DType(), 784, 4*128))).MatMul()
	h = graph.Reshape(h, -1, 4, 128)
	h = graph.Einsum("bci,cio->cbo", h, graph.Ones(g, shapes.Make(h.DType(), 4, 128, 64)))
	h = graph.Einsum("cbi,cio->cbo", h, graph.Ones(g, shapes.Make(h.DType(), 4, 64, 10)))
	return graph.Reshape(graph.ReduceAllSum(h), 1, 1)
})

// peak returns the peak memory of this process, in MB.
func peak() (mb int) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			_, _ = fmt.Sscan(v, &mb)
		}
	}
	return mb / 1024
}
