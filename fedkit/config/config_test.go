package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand"
	randv2 "math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
)

// A small world like that of strategies.
type (
	FedAvg struct {
		Fraction   float64
		Selector   Selector
		Local      Local
		Aggregator Aggregator
		State      struct{ X []float64 }
	}
	Local struct {
		Epochs, Batch int
		LR            float64
		Optimizer     any
	}
	Selector     interface{ Select() }
	SelectorFunc func()
	Explore      struct{ Then Selector }
	By           int
	Softmax      struct {
		By   By
		Seed uint64
	}
	Aggregator    interface{ Aggregate() }
	Mean          struct{}
	Median        struct{}
	Krum          struct{ F int }
	Adam          struct{ Beta float32 }
	FedOpt[O any] struct {
		Server O
		Seed   uint64
	}
	FedMedian struct {
		FedAvg
		Fraction float64
	}
	pointed struct {
		*FedAvg
		Seed uint64
	}
	State  struct{ A int }
	served struct {
		State
		Seed uint64
		Inner
	}
	Inner struct {
		State
		B int
	}
	node struct {
		Parent   *node
		Children []*node
	}
	anything struct {
		A, B    any
		P       *int
		List    []int
		Array   [2]Krum
		Map     map[string]any
		Numbers map[int]string
		Text    string
		Flag    bool
		Big     *big.Int
		Bytes   []byte
		Small   float32
		F       func()
		C       chan int
		Time    time.Time
		Wait    time.Duration
		hidden  int
	}
	secret struct {
		value *Krum
		list  []any
		left  int `config:"-"`
		mu    sync.Mutex
		Wait  time.Duration
	}
	doubled struct {
		Local
		Adam
		again
	}
	again  struct{ LR float64 }
	stated struct{ State string }
	keyed  struct{ by func() }
	When   struct{ time.Time }
	dated  struct {
		When
		K int
	}
	chain  struct{ Next *chain }
	looped struct {
		Of  any
		All []any
	}
)

func (SelectorFunc) Select() {}
func (Explore) Select()      {}
func (Softmax) Select()      {}
func (Mean) Aggregate()      {}
func (Median) Aggregate()    {}
func (*Krum) Aggregate()     {}
func (By) String() string    { return "by something" }

// Of strategies the State is left out.
func (*FedAvg) Round(*int) error { return nil }
func (*served) Round(*int) error { return nil }

func locked(s *secret) *secret {
	s.mu.Lock()
	return s
}

func (keyed) Key() string { return "mine" }

func named()             {}
func generic[T any]()    {}
func (Mean) method()     {}
func closure() func()    { return func() {} }
func pointer(v int) *int { return &v }

var cases = []struct {
	value      any
	text, json string
}{
	{FedAvg{}, `config_test.FedAvg{}`, `{"type":"config_test.FedAvg"}`},
	{&FedAvg{Fraction: 0.5, Local: Local{Batch: 16, LR: 0.1}, Aggregator: Median{}, State: struct{ X []float64 }{[]float64{1}}},
		`config_test.FedAvg{Aggregator: config_test.Median{}, Fraction: 0.5, Local: {Batch: 16, LR: 0.1}}`,
		`{"Aggregator":{"type":"config_test.Median"},"Fraction":0.5,"Local":{"Batch":16,"LR":0.1},"type":"config_test.FedAvg"}`},
	{served{State{1}, 2, Inner{State{3}, 4}}, `config_test.served{B: 4, Seed: 2}`, `{"B":4,"Seed":2,"type":"config_test.served"}`},
	{&FedAvg{Aggregator: Mean{}}, `config_test.FedAvg{Aggregator: config_test.Mean{}}`, `{"Aggregator":{"type":"config_test.Mean"},"type":"config_test.FedAvg"}`},
	{&FedAvg{Aggregator: &Krum{2}}, `config_test.FedAvg{Aggregator: config_test.Krum{F: 2}}`, `{"Aggregator":{"F":2,"type":"config_test.Krum"},"type":"config_test.FedAvg"}`},
	{&FedAvg{Aggregator: (*Krum)(nil)}, `config_test.FedAvg{Aggregator: config_test.Krum(nil)}`, `{"Aggregator":{"type":"config_test.Krum","value":null},"type":"config_test.FedAvg"}`},
	{FedAvg{Selector: Explore{&Softmax{By: 2, Seed: math.MaxUint64}}},
		`config_test.FedAvg{Selector: config_test.Explore{Then: config_test.Softmax{By: 2, Seed: 18446744073709551615}}}`,
		`{"Selector":{"Then":{"By":2,"Seed":18446744073709551615,"type":"config_test.Softmax"},"type":"config_test.Explore"},"type":"config_test.FedAvg"}`},
	{FedAvg{Selector: SelectorFunc(named)}, `config_test.FedAvg{Selector: config_test.SelectorFunc(config_test.named)}`,
		`{"Selector":{"func":"config_test.named","type":"config_test.SelectorFunc"},"type":"config_test.FedAvg"}`},
	{FedAvg{Selector: SelectorFunc(closure())}, `config_test.FedAvg{Selector: config_test.SelectorFunc(func)}`,
		`{"Selector":{"type":"config_test.SelectorFunc","unnamed":"func"},"type":"config_test.FedAvg"}`},
	{FedOpt[Adam]{Server: Adam{0.1}}, `config_test.FedOpt[config_test.Adam]{Server: {Beta: 0.1}}`, `{"Server":{"Beta":0.1},"type":"config_test.FedOpt[config_test.Adam]"}`},
	{FedOpt[any]{Server: Adam{}}, `config_test.FedOpt[interface {}]{Server: config_test.Adam{}}`, `{"Server":{"type":"config_test.Adam"},"type":"config_test.FedOpt[interface {}]"}`},
	{FedMedian{FedAvg{Fraction: 0.5, Local: Local{LR: 1}}, 0.25}, `config_test.FedMedian{FedAvg.Fraction: 0.5, Fraction: 0.25, Local: {LR: 1}}`,
		`{"FedAvg.Fraction":0.5,"Fraction":0.25,"Local":{"LR":1},"type":"config_test.FedMedian"}`},
	{doubled{Local{LR: 1}, Adam{2}, again{LR: 3}}, `config_test.doubled{Beta: 2, Local.LR: 1, again.LR: 3}`, `{"Beta":2,"Local.LR":1,"again.LR":3,"type":"config_test.doubled"}`},
	{stated{"CA"}, `config_test.stated{State: "CA"}`, `{"State":"CA","type":"config_test.stated"}`},
	{anything{A: keyed{func() {}}}, `config_test.anything{A: config_test.keyed(mine)}`, `{"A":{"key":"mine","type":"config_test.keyed"},"type":"config_test.anything"}`},
	{anything{Text: "\xff"}, `config_test.anything{Text: 1 elements, SHA-256 b2ac9cd5d696}`, `{"Text":{"len":1,"sha256":"b2ac9cd5d696b38b391df503259aa44fcf1681e7e82bbed53be7f35aca7af876"},"type":"config_test.anything"}`},
	{pointed{&FedAvg{Fraction: 1}, 2}, `config_test.pointed{Fraction: 1, Seed: 2}`, `{"Fraction":1,"Seed":2,"type":"config_test.pointed"}`},
	{pointed{}, `config_test.pointed{}`, `{"type":"config_test.pointed"}`},

	// Values of every kind, alone and in an interface.
	{anything{hidden: 1}, `config_test.anything{hidden: 1}`, `{"hidden":1,"type":"config_test.anything"}`},
	{locked(&secret{value: &Krum{2}, list: []any{Mean{}}, left: 3, Wait: time.Second}), `config_test.secret{"value": {F: 2}, Wait: 1000000000, list: [config_test.Mean{}]}`,
		`{"\"value\"":{"F":2},"Wait":1000000000,"list":[{"type":"config_test.Mean"}],"type":"config_test.secret"}`},
	{dated{When{time.Unix(0, 0).UTC()}, 2}, `config_test.dated{K: 2, Time: "1970-01-01T00:00:00Z"}`, `{"K":2,"Time":"1970-01-01T00:00:00Z","type":"config_test.dated"}`},
	{anything{A: math.SmallestNonzeroFloat64, B: math.NaN()}, `config_test.anything{A: float64(5e-324), B: float64(NaN)}`,
		`{"A":{"type":"float64","value":5e-324},"B":{"type":"float64","value":"NaN"},"type":"config_test.anything"}`},
	{anything{A: "NaN", B: math.Inf(-1)}, `config_test.anything{A: string(NaN), B: float64(-Inf)}`,
		`{"A":{"type":"string","value":"NaN"},"B":{"type":"float64","value":"-Inf"},"type":"config_test.anything"}`},
	{anything{A: int8(-1), B: By(3)}, `config_test.anything{A: int8(-1), B: config_test.By(3)}`,
		`{"A":{"type":"int8","value":-1},"B":{"type":"config_test.By","value":3},"type":"config_test.anything"}`},
	{anything{P: pointer(0)}, `config_test.anything{P: 0}`, `{"P":0,"type":"config_test.anything"}`},
	{anything{List: []int{}, Array: [2]Krum{{}, {1}}}, `config_test.anything{Array: [{}, {F: 1}], List: []}`, `{"Array":[{},{"F":1}],"List":[],"type":"config_test.anything"}`},
	{anything{List: []int{0, 1}, Flag: true, Text: "a \"b\""}, `config_test.anything{Flag: true, List: [0, 1], Text: "a \"b\""}`,
		`{"Flag":true,"List":[0,1],"Text":"a \"b\"","type":"config_test.anything"}`},
	{anything{Map: map[string]any{"type": 1, "a b": nil, "B": []string{"x"}}}, `config_test.anything{Map: {"type": int(1), B: []string(["x"]), a b: nil}}`,
		`{"Map":{"\"type\"":{"type":"int","value":1},"B":{"type":"[]string","value":["x"]},"a b":null},"type":"config_test.anything"}`},
	{anything{Numbers: map[int]string{2: "two", 1: ""}}, `config_test.anything{Numbers: {1: "", 2: "two"}}`, `{"Numbers":{"1":"","2":"two"},"type":"config_test.anything"}`},
	{anything{Big: big.NewInt(7)}, `config_test.anything{Big: "7"}`, `{"Big":"7","type":"config_test.anything"}`},
	{anything{A: time.Unix(0, 0).UTC()}, `config_test.anything{A: time.Time("1970-01-01T00:00:00Z")}`, `{"A":{"type":"time.Time","value":"1970-01-01T00:00:00Z"},"type":"config_test.anything"}`},
	{anything{Time: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)}, `config_test.anything{Time: Time.MarshalText: year outside of range [0,9999]}`,
		`{"Time":{"unnamed":"Time.MarshalText: year outside of range [0,9999]"},"type":"config_test.anything"}`},
	{anything{Small: 0.1, Wait: time.Second}, `config_test.anything{Small: 0.1, Wait: 1000000000}`,
		`{"Small":0.1,"Wait":1000000000,"type":"config_test.anything"}`},
	{anything{F: named}, `config_test.anything{F: config_test.named}`, `{"F":{"func":"config_test.named"},"type":"config_test.anything"}`},
	{anything{F: Mean{}.method}, `config_test.anything{F: func}`, `{"F":{"unnamed":"func"},"type":"config_test.anything"}`},
	// SHA-256 of 65 zeros as JSON: hashlib.sha256(json.dumps([0]*65, separators=(",", ":")).encode()) in Python 3.11. Bytes are
	// a string in base64: hashlib.sha256(json.dumps(base64.b64encode(bytes(65)).decode()).encode()).
	{anything{Bytes: make([]byte, 65)}, `config_test.anything{Bytes: 65 elements, SHA-256 d840d6902fa9}`,
		`{"Bytes":{"len":65,"sha256":"d840d6902fa99471512d59203e8580a296913ebafb89b60eae6c2d5c7e264139"},"type":"config_test.anything"}`},
	{anything{List: make([]int, 65)}, `config_test.anything{List: 65 elements, SHA-256 f2ef942aca6d}`,
		`{"List":{"len":65,"sha256":"f2ef942aca6da4ba356b241f7d9141f38f03ac9602cff523a9062245da9a3d17"},"type":"config_test.anything"}`},

	// Roots of other types.
	{By(0), `config_test.By(0)`, `{"type":"config_test.By","value":0}`},
	{[]Krum{{1}}, `[]config_test.Krum([{F: 1}])`, `{"type":"[]config_test.Krum","value":[{"F":1}]}`},
	{SelectorFunc(named), `config_test.SelectorFunc(config_test.named)`, `{"func":"config_test.named","type":"config_test.SelectorFunc"}`},
	{new(any), `interface {}(nil)`, `{"type":"interface {}","value":null}`},
}

// Every value has the text and the JSON that are expected, and comes back from JSON as it was.
func TestForms(t *testing.T) {
	for _, c := range cases {
		is := config.Of(c.value)
		b, err := json.Marshal(is)
		expect.That(t, err == nil && string(b) == c.json && is.String() == c.text,
			"%s, %s, %v; want\n%s, %s", is, b, err, c.text, c.json)
		var back config.Config
		err = json.Unmarshal(b, &back)
		expect.That(t, err == nil && reflect.DeepEqual(&back, is) && back.String() == is.String(),
			"%s came back as %s, %v", is, &back, err)
		if d := config.Diff(&back, is); d != nil {
			t.Errorf("%s differs from itself: %q", is, d)
		}
	}
}

// Different values have different configurations; a literal that is written again, or pointed to, has the same.
func TestConfigurationsAreCanonical(t *testing.T) {
	seen := map[string]int{}
	for i, c := range cases {
		b, _ := json.Marshal(config.Of(c.value))
		j, dup := seen[string(b)]
		expect.That(t, !dup, "cases %d and %d are both %s", i, j, b)
		seen[string(b)] = i
	}
	build := func() any {
		return &FedAvg{Selector: &Explore{SelectorFunc(named)}, Local: Local{LR: 0.1, Optimizer: map[string]int{"a": 1, "b": 2, "c": 3}}}
	}
	value := *build().(*FedAvg)
	value.Selector = Explore{SelectorFunc(named)}
	was, _ := json.Marshal(config.Of(build()))
	for _, v := range []any{build(), value, new(any(&value))} {
		is, _ := json.Marshal(config.Of(v))
		expect.That(t, string(is) == string(was), "%s, want %s", is, was)
	}
	for _, pair := range [][2]any{
		{0.1, math.Nextafter(0.1, 1)}, {float32(0.1), math.Nextafter32(0.1, 1)}, {0.0, math.Copysign(0, -1)},
		{uint64(1<<63 + 1), uint64(1 << 63)}, {1, 1.0}, {[]string{"a, b"}, []string{"a", "b"}}, {[]int{}, []int(nil)},
		{slices.Repeat([]int{1}, 65), slices.Repeat([]int{1}, 66)}, {slices.Repeat([]int{1}, 65), append(slices.Repeat([]int{1}, 64), 2)},
		{map[string]string{"len": "1"}, map[string]int{"len": 1}},
		{1i, 2i}, {randv2.NewPCG(1, 2), randv2.NewPCG(1, 3)}, {struct{ r *randv2.Rand }{randv2.New(randv2.NewPCG(1, 2))}, struct{ r *randv2.Rand }{randv2.New(randv2.NewPCG(1, 3))}}, {make(chan int), nil},
		// Unexported fields of every kind.
		{struct{ a []int }{[]int{1}}, struct{ a []int }{[]int{2}}},
		{struct{ a map[string]int }{map[string]int{"b": 1}}, struct{ a map[string]int }{map[string]int{"b": 2}}},
		{struct{ a *int }{pointer(1)}, struct{ a *int }{pointer(2)}},
		{struct{ a struct{ b int } }{struct{ b int }{1}}, struct{ a struct{ b int } }{struct{ b int }{2}}},
		{struct{ a [2]float64 }{[2]float64{1}}, struct{ a [2]float64 }{[2]float64{2}}},
		{struct{ a any }{1}, struct{ a any }{2}},
		{struct{ a func() }{named}, struct{ a func() }{generic[int]}},
		// Types and functions of one name, in two packages.
		{rand.Zipf{}, randv2.Zipf{}}, {[]any{&rand.Zipf{}}, []any{&randv2.Zipf{}}}, {[]rand.Zipf{}, []randv2.Zipf{}},
		{map[string]rand.Zipf{}, map[string]randv2.Zipf{}}, {rand.Int, randv2.Int},
	} {
		a, b := config.Of(pair[0]), config.Of(pair[1])
		expect.That(t, !reflect.DeepEqual(a, b) && config.Diff(a, b) != nil, "%v and %v are both %s", pair[0], pair[1], a)
	}
}

func TestWhatCannotBeWrittenIsListed(t *testing.T) {
	loop := &looped{}
	loop.Of, loop.All = loop, []any{1, named, closure()}
	long := &looped{All: make([]any, 100)}
	long.All[70] = closure()
	family := &node{}
	family.Children = []*node{{Parent: family}, {Parent: family}, {Parent: family}}
	list := []any{nil}
	list[0] = list
	m := map[string]any{}
	m["m"] = m
	for _, c := range []struct {
		value any
		want  []string
	}{
		{nil, nil},
		{family, []string{"Children[0].Parent", "Children[1].Parent", "Children[2].Parent"}},
		{FedAvg{Selector: Explore{SelectorFunc(named)}}, nil},
		{FedAvg{Selector: Explore{SelectorFunc(closure())}}, []string{"Selector.Then"}},
		{[]func(){named, generic[int], Mean{}.method, nil, closure()}, []string{"[1]", "[2]", "[4]"}},
		{loop, []string{"All[2]", "Of"}},
		{long, []string{"All[70]"}},
		{list, []string{"[0]"}},
		{m, []string{"m"}},
		{struct {
			a func()
			b chan int
		}{closure(), make(chan int)}, []string{"a", "b"}},
		{closure(), []string{""}},
	} {
		got := config.Of(c.value).Unnamed()
		expect.That(t, slices.Equal(got, c.want), "%s: %q, want %q", config.Of(c.value), got, c.want)
	}
}

// Nesting without end is cut off, in Go values and in files.
func TestDeepNesting(t *testing.T) {
	deep := &chain{}
	for range 1000000 {
		deep = &chain{deep}
	}
	is := config.Of(deep)
	n := len(is.Unnamed())
	expect.That(t, n == 1, "%d parts are too deep, want 1", n)
	b, err := json.Marshal(is)
	expect.That(t, err == nil && len(b) <= 10000, "%d bytes, %v", len(b), err)
	if err := json.Unmarshal(b, new(config.Config)); err != nil {
		t.Error(err)
	}
	visits := 0
	if err := config.Walk(deep, func(string, any) error { visits++; return nil }); err != nil || visits != 50 {
		t.Errorf("%d visits, %v", visits, err)
	}
	var nested config.Config // whose text must not take exponential time
	if err := json.Unmarshal([]byte(strings.Repeat(`{"value":`, 999)+"1"+strings.Repeat("}", 999)), &nested); err != nil || nested.String() != "1" {
		t.Errorf("%s, %v", &nested, err)
	}
	expect.Error(t, "max depth")(new(config.Config).UnmarshalJSON([]byte(strings.Repeat("[", 1e6))))
}

func TestDiff(t *testing.T) {
	expect.Error(t, "an older version of fedkit wrote it: compute")(json.Unmarshal([]byte(`"Fraction: 0.5, Local: {Epochs:1}"`), new(config.Config)))
	for _, c := range []struct {
		was, is any
		want    []string
	}{
		{nil, nil, nil},
		{FedAvg{}, &FedAvg{}, nil},
		{nil, FedAvg{}, []string{"config_test.FedAvg{}, was not set"}},
		{Mean{}, nil, []string{"not set, was config_test.Mean{}"}},
		{Mean{}, Median{}, []string{"type: config_test.Median, was config_test.Mean"}},
		{By(1), By(2), []string{"config_test.By(2), was config_test.By(1)"}},
		{FedAvg{Local: Local{LR: 0.1}}, FedAvg{Local: Local{LR: 0.03}, Aggregator: Median{}},
			[]string{"Aggregator: config_test.Median{}, was not set", "Local.LR: 0.03, was 0.1"}},
		{FedAvg{Fraction: 0.5, Aggregator: &Krum{1}}, FedOpt[int]{Server: 1, Seed: 2},
			[]string{"type: config_test.FedOpt[int], was config_test.FedAvg", "Aggregator: not set, was config_test.Krum{F: 1}", "Fraction: not set, was 0.5",
				"Seed: 2, was not set", "Server: 1, was not set"}},
		{FedAvg{Aggregator: &Krum{1}}, FedAvg{Aggregator: &Krum{2}}, []string{"Aggregator.F: 2, was 1"}},
		{FedAvg{Aggregator: &Krum{1}}, FedAvg{Aggregator: Mean{}}, []string{"Aggregator: config_test.Mean{}, was config_test.Krum{F: 1}"}},
		{FedAvg{Fraction: 1, Local: Local{LR: 1}}, FedAvg{Selector: Softmax{}, Aggregator: Mean{}},
			[]string{"Aggregator: config_test.Mean{}, was not set", "Fraction: not set, was 1", "Local: not set, was {LR: 1}", "Selector: config_test.Softmax{}, was not set"}},
		{anything{List: []int{1, 2}}, anything{List: []int{1, 3, 4}}, []string{"List[1]: 3, was 2", "List[2]: 4, was not set"}},
		{anything{List: make([]int, 11)}, anything{List: []int{2: 1, 10: 1}}, []string{"List[2]: 1, was 0", "List[10]: 1, was 0"}},
		{anything{F: named}, anything{F: closure()}, []string{"F: func, was config_test.named"}},
		{anything{Map: map[string]any{"a": 1}}, anything{Map: map[string]any{"a": 1, "b": 2}}, []string{"Map.b: int(2), was not set"}},
	} {
		got := config.Diff(config.Of(c.was), config.Of(c.is))
		expect.That(t, slices.Equal(got, c.want), "from %s to %s:\n%q, want\n%q", config.Of(c.was), config.Of(c.is), got, c.want)
	}
}

func TestAt(t *testing.T) {
	c := config.Of(FedAvg{Selector: Explore{&Softmax{By: 2}}, Local: Local{LR: 0.1}, Aggregator: &Krum{1}})
	for path, want := range map[string]string{"type": "config_test.FedAvg", "Local.LR": "0.1", "Aggregator.type": "config_test.Krum",
		"Aggregator": "config_test.Krum{F: 1}", "Selector.Then.By": `"by something"`, "Fraction": "", "Local.Epochs": "", "None.None": "", "[0]": ""} {
		if got, ok := c.At(path); got != want && path != "Selector.Then.By" || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", path, got, ok, want)
		}
	}
	got, ok := config.Of(anything{List: []int{4, 5}}).At("List[1]")
	expect.That(t, got == "5" && ok, "%q, %v", got, ok)
	if _, ok := (*config.Config)(nil).At("Local"); ok {
		t.Error("nil has something")
	}
}

// A closure is named by the struct it is in.
func TestClosuresWithNames(t *testing.T) {
	type rule struct {
		Name string
		By   func()
	}
	if got := config.Of(rule{"mine", closure()}); got.Unnamed() != nil || got.String() != "config_test.rule{By: mine, Name: \"mine\"}" {
		t.Error(got, got.Unnamed())
	}
	if got := config.Of(rule{"", closure()}).Unnamed(); !slices.Equal(got, []string{"By"}) {
		t.Error(got)
	}
}

func TestWalk(t *testing.T) {
	krum, loop := &Krum{}, &looped{}
	loop.Of, loop.All = loop, []any{loop, krum, krum, 3, By(1), nil, (*Krum)(nil)}
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, ""},
		{3, ""},
		{(*FedAvg)(nil), ""},
		{FedAvg{}, " FedAvg; Local Local"},
		{&FedAvg{Aggregator: krum, Selector: &Explore{Softmax{}}}, " *FedAvg; Selector *Explore; Selector.Then Softmax; Selector.Then.By By; Local Local; Aggregator *Krum"},
		{FedMedian{FedAvg{Aggregator: Mean{}}, 1}, " FedMedian; Local Local; Aggregator Mean"},
		{pointed{FedAvg: &FedAvg{}}, " pointed; Local Local"},
		{[]Selector{Softmax{}, nil, SelectorFunc(named)}, " []Selector; [0] Softmax; [0].By By; [2] SelectorFunc"},
		{map[string]any{"b": Mean{}, "a": krum, "": Median{}}, " map[string]interface {};  Median; a *Krum; b Mean"},
		{loop, " *looped; All []interface {}; All[1] *Krum; All[2] *Krum; All[4] By"},
		{[]any{time.Now(), big.NewInt(1), []int{1}, func() {}}, " []interface {}; [0] Time; [1] *Int; [2] []int; [3] func()"},
	} {
		var got []string
		err := config.Walk(c.value, func(path string, part any) error {
			got = append(got, path+" "+strings.NewReplacer("config_test.", "", "time.", "", "big.", "").Replace(fmt.Sprintf("%T", part)))
			return nil
		})
		s := strings.Join(got, "; ")
		expect.That(t, s == c.want && err == nil, "%T: %s, %v; want %s", c.value, s, err, c.want)
	}
	stop, n := errors.New("stop"), 0
	err := config.Walk(&FedAvg{Selector: Softmax{}}, func(path string, _ any) error {
		if n++; path == "Selector" {
			return stop
		}
		return nil
	})
	expect.That(t, err == stop && n == 2, "%v after %d visits", err, n)
}

// Whatever a file holds, reading it does not panic, and what is read is written as the same again.
func FuzzConfig(f *testing.F) {
	for _, c := range cases {
		b, err := json.Marshal(config.Of(c.value))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	for _, s := range []string{`"text"`, `null`, `[1,`, `{"type":{"type":[]}}`, `{"len":1}`, `{"func":{}}`, `{"a":1,"a":2}`, `1e999`, `{} {}`, `{"value":[{"unnamed":1}]}`} {
		f.Add(s)
	}
	base := config.Of(cases[1].value)
	f.Fuzz(func(t *testing.T, s string) {
		var c, again config.Config
		if c.UnmarshalJSON([]byte(s)) != nil {
			return
		}
		b := expect.Value(json.Marshal(&c))(t)
		if err := again.UnmarshalJSON(b); err != nil || !reflect.DeepEqual(c, again) || c.String() != again.String() {
			t.Errorf("%s came back as %s, %v", &c, &again, err)
		}
		if (config.Diff(base, &c) == nil) != reflect.DeepEqual(base, &c) {
			t.Errorf("%s differs from %s by %q", &c, base, config.Diff(base, &c))
		}
		c.Unnamed()
		config.Diff(&c, base)
	})
}

func first() any {
	type part struct{ FedAvg }
	return part{}
}

func second() any {
	type part struct{ FedMedian }
	return part{}
}

// Types of one name, declared in two functions, are told apart by what they consist of.
func TestTypes(t *testing.T) {
	expect.That(t, config.Types(3, nil, "text", config.Config{}, []any{&config.Difference{}}) == "", "types of fedkit count")
	if a, b := config.Of(first()), config.Of(second()); a.String() != b.String() || config.Types(first()) == config.Types(second()) {
		t.Errorf("%s, %s: %s, %s", a, b, config.Types(first()), config.Types(second()))
	}
	a := config.Types(first())
	expect.That(t, a != "" && a == config.Types([]any{first()}[0]) && a != config.Types([]any{first(), 1i, second()}), "%v", a)
	inside := func(v any) string { return config.Types(struct{ hidden any }{v}) }
	expect.That(t, inside(first()) != inside(second()), "what an unexported field holds does not count")
	loop := &looped{}
	loop.Of = loop
	config.Types(loop) // ends
}
