package catalog_test

import (
	"cmp"
	"fmt"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
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

// Whatever can be set has a type that Build knows.
func TestOptionsCanBeBuilt(t *testing.T) {
	for _, k := range catalog.Kinds() {
		for _, thing := range k.Components() {
			options(thing.Options(), func(o catalog.Option) {
				if strings.Contains(o.Type, ".") || strings.HasPrefix(o.Type, "func") {
					t.Errorf("%s.%s is a %s, which Build cannot make", thing.Type(), o.Name, o.Type)
				}
			})
		}
	}
}

func options(all []catalog.Option, visit func(catalog.Option)) {
	for _, o := range all {
		if o.Options == nil {
			visit(o)
		}
		options(o.Options, visit)
	}
}

// Options have the types, ranges and defaults of their fields.
func TestFindTellsOptions(t *testing.T) {
	things, err := catalog.Find("fed-prox", catalog.Kinds()...)
	if err != nil || len(things) != 1 {
		t.Fatal(things, err)
	}
	prox := things[0]
	if prox.Type() != "strategy.FedProx" || prox.Kind.Name != "strategy" {
		t.Errorf("%s, a %s", prox.Type(), prox.Kind.Name)
	}
	byName := map[string]catalog.Option{}
	for _, o := range prox.Options() {
		byName[o.Name] = o
	}
	if want := (catalog.Option{Name: "Mu", Type: "float64", Default: "0.1", Range: "[0,inf)"}); !reflect.DeepEqual(byName["Mu"], want) {
		t.Errorf("%+v, want %+v", byName["Mu"], want)
	}
	if byName["Selector"].Type != "selector" || byName["State"].Name != "" || byName["X"].Name != "" || len(byName["Local"].Options) < 7 {
		t.Errorf("%+v", byName)
	}
}

func TestFindSuggestsTheNearestName(t *testing.T) {
	expect.Error(t, "did you mean Krum?")(catalog.Find("Kurm", catalog.Kinds()...))
	if adams, err := catalog.Find("Adam", catalog.Kinds()...); err != nil || len(adams) != 2 {
		t.Error(adams, err)
	}
}

// The names of an enumeration are what its values print.
func TestEnumerationsKnowTheirNames(t *testing.T) {
	for name, tree := range map[string]string{"server.Adam": "Form", "selection.Hybrid": "By"} {
		things := expect.Value(catalog.Find(name, catalog.Kinds()...))(t)
		i := slices.IndexFunc(things[0].Options(), func(o catalog.Option) bool { return o.Name == tree })
		names, ok := strings.CutPrefix(things[0].Options()[i].Type, "one of ")
		if !ok {
			t.Fatalf("%s.%s is %s", name, tree, things[0].Options()[i].Type)
		}
		for n := range strings.SplitSeq(names, ", ") {
			v := build(t, things[0].Kind, fmt.Sprintf("%s %s=%s", name, tree, n))
			got := fmt.Sprint(reflect.ValueOf(v).FieldByName(tree).Interface())
			if !strings.EqualFold(got, n) {
				t.Errorf("%s is %s", n, got)
			}
		}
	}
}

func build(t *testing.T, k catalog.Kind, text string) (v any) {
	t.Helper()
	var err error
	switch k.Name {
	case "server optimizer":
		v, err = catalog.Build[fedkit.ServerOptimizer](text)
	case "selector":
		v, err = catalog.Build[fedkit.Selector](text)
	}
	expect.OK(t, err)
	return v
}

// Defaults are in tags alone, and within the ranges beside them.
func TestDefaults(t *testing.T) {
	numbers := 0
	for _, k := range catalog.Kinds() {
		for _, c := range k.Components() {
			for _, o := range c.Options() {
				if _, err := strconv.ParseFloat(o.Default, 64); err != nil {
					continue
				}
				numbers++
				f := reflect.StructField{Name: o.Name, Type: reflect.TypeFor[float64](), Tag: reflect.StructTag(fmt.Sprintf(`range:"%s"`, cmp.Or(o.Range, "(-inf,inf)")))}
				v := reflect.New(reflect.StructOf([]reflect.StructField{f})).Elem()
				v.Field(0).SetFloat(expect.Value(strconv.ParseFloat(o.Default, 64))(t))
				if err := config.CheckRanges(v.Interface()); err != nil {
					t.Errorf("%s: the default: %v", c.Type(), err)
				}
			}
		}
	}
	if numbers < 100 {
		t.Errorf("%d defaults are numbers", numbers)
	}
	twice := regexp.MustCompile(`cmp\.Or\(\w+\.\w+, -?[0-9.e-]+\)`)
	for _, root := range []string{"..", "../../datasets"} {
		expect.OK(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
				if text := expect.Value(os.ReadFile(path))(t); twice.Match(text) {
					t.Errorf("%s: %s: the default stands in the field's tag", path, twice.Find(text))
				}
			}
			return err
		}))
	}
}
