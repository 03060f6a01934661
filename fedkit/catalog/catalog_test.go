package catalog_test

import (
	"go/types"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/fedkit/catalog"
	"golang.org/x/tools/go/packages"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// unlisted implement an interface of a kind, but have no name and options in a file: adapters for functions, building blocks of
// others, what only Go code can make, and data that depend on the machine.
var unlisted = []string{"fedkit.AggregatorFunc", "fedkit.SelectorFunc", "fedkit.ScheduleFunc", "cluster.Func", "cluster.AffinityFunc", "strategy.WeightingFunc", "attack.Forge", "partition.Given", "sim.Given", "model.GoMLX",
	"datasets.MNISTOrDigits", "datasets.Table", "datasets.Tokens"}

// Every exported component is listed: types that implement the interface of a kind, types that make a data set, and functions
// that return a data set or a model.
func TestEverythingIsListed(t *testing.T) {
	var listed []string
	for _, k := range catalog.Kinds() {
		for _, thing := range k.Components() {
			listed = append(listed, thing.Type())
		}
	}
	exported, interfaces := load(t)
	missing := func(name, is string) {
		if !slices.Contains(listed, name) && !slices.Contains(unlisted, name) {
			t.Errorf("%s is %s: it is missing in kinds", name, is)
		}
	}
	for name, o := range exported {
		switch o := o.(type) {
		case *types.TypeName:
			for _, i := range interfaces {
				if types.Implements(types.NewPointer(o.Type()), i) && !types.IsInterface(o.Type()) {
					missing(name, "of the kind "+i.String())
				}
			}
			if m, _, _ := types.LookupFieldOrMethod(o.Type(), true, nil, "Make"); m != nil {
				missing(name, "a data set")
			}
		case *types.Func:
			returns := o.Signature().Results()
			if returns.Len() == 0 || !strings.HasPrefix(name, "datasets.") && !strings.HasPrefix(name, "model.") && !strings.HasPrefix(name, "examples.") || name == "datasets.ByName" {
				continue
			}
			if r := returns.At(0).Type().String(); strings.HasSuffix(r, "/datasets.Dataset") || strings.HasSuffix(r, "/fedkit.Model") {
				missing(name, "a function that returns "+r)
			}
		}
	}
}

// load returns what the packages that the kinds come from export, by name, and the interfaces of the kinds.
func load(t *testing.T) (exported map[string]types.Object, interfaces []*types.Interface) {
	t.Helper()
	names := []string{"fedkit.example/datasets", "fedkit.example/datasets/partition", "fedkit.example/fedkit"}
	for _, p := range []string{"aggregate", "attack", "cluster", "examples", "metric", "model", "selection", "server", "sim", "strategy"} {
		names = append(names, "fedkit.example/fedkit/"+p)
	}
	all, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedExportFile}, names...)
	if err != nil || packages.PrintErrors(all) > 0 {
		t.Fatal(err)
	}
	exported = map[string]types.Object{}
	for _, p := range all {
		for _, name := range p.Types.Scope().Names() {
			if o := p.Types.Scope().Lookup(name); o.Exported() {
				exported[p.Name+"."+name] = o
			}
		}
	}
	for _, k := range catalog.Kinds() {
		if o := exported[k.Type.String()]; o != nil { // those of this package are looked for by what they make
			interfaces = append(interfaces, o.Type().Underlying().(*types.Interface))
		}
	}
	if len(interfaces) != len(catalog.Kinds())-2 {
		t.Fatalf("%d interfaces of %d kinds", len(interfaces), len(catalog.Kinds()))
	}
	return exported, interfaces
}
