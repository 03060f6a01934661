package notebook

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/internal/display"
	"fedkit.example/fedkit/internal/fault"
)

// Explore calls f, a function with a parameter per range, and draws what it returns, as Show does. In JupyterLab a slider, a menu or a
// check box for each stands above that: when one is moved, f is called again, and drawn in the same place, until Stop or the stop button
// ends the cell, or nothing has been moved for ten minutes. Where no page can answer, as in a headless run, f is called once, with the
// defaults. As the last line of a cell:
//
//	notebook.Explore(func(alpha float64, clients int) chart.Row {
//		fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: clients, Alpha: alpha}, model.MLP(64)))
//		h := must.M1(fedkit.Run(ctx, fed, &strategy.FedAvg{Local: local}, fedkit.Options{Rounds: 20}))
//		return chart.Row{plot.Accuracy(h), plot.Labels(fed)}
//	}, notebook.Range{Name: "α", From: 0.1, To: 10, Log: true}, notebook.Range{Name: "clients", From: 5, To: 40, Start: 20})
//
// The error names the range that does not suit its parameter. What goes wrong in f ends the cell the first time; later it is shown in
// place of the figures.
func Explore(f any, ranges ...Range) error {
	e, err := newExplorer(f, ranges)
	if err != nil {
		return fmt.Errorf("notebook: Explore: %w", err)
	}
	if err := e.head.Text(e.String(), false); err != nil {
		return err
	}
	e.place.Draw(func() bool { return draw(e.call()) })
	ctx, release := Interruptible(context.Background())
	defer release()
	state, _ := json.Marshal(e.controls) // with < as \u003c
	of := rand.Text()
	for answered, tries := false, 0; !answered && tries < 3; tries++ { // GoNB's script gives up after half a second
		id, moves := "explore_"+rand.Text(), make(chan []int, 1)
		if !display.Listen(id, latest(moves)) {
			return nil
		}
		form := strings.NewReplacer("{ID}", id, "{OF}", of, "{CONTROLS}", string(state)).Replace(page)
		if err := e.head.Send(map[string]any{"text/html": form, "text/plain": e.String()}, nil, false); err != nil {
			return err
		}
		answered = e.follow(ctx, moves)
	}
	return e.head.Text(e.String(), true)
}

// Range is what a parameter of Explore's function goes through: numbers by a slider, the elements of Of in a menu. A bool needs only a
// name, and has a check box.
type Range struct {
	Name  string  // stands beside the slider
	From  float64 // the least number
	To    float64 // the greatest
	Start float64 // the default, in [From, To]; left out, it is 0 if that is in there, else From
	Step  float64 // from one number to the next; default 1 for whole numbers, (To − From)/100 for others
	Log   bool    // a hundred steps of the same ratio instead, to numbers of two digits; needs From > 0
	Of    any     // a slice for the parameter, such as []string{"mean", "median"}; the first is the default
}

// control returns that of a parameter.
func (r Range) control(of reflect.Type) (*control, error) {
	c, list := &control{Name: r.Name, Form: "menu"}, reflect.ValueOf(r.Of)
	switch {
	case r.Name == "":
		return nil, fault.Invalid("Name", `""`, "what stands beside the slider")
	case r.Of == nil && of.Kind() >= reflect.Int && of.Kind() <= reflect.Float64:
		return c, r.slider(c, of)
	case r.Of == nil && of.Kind() == reflect.Bool:
		c.Form, list = "checkbox", reflect.ValueOf([]bool{false, true})
	case list.Kind() != reflect.Slice || list.Len() == 0:
		return nil, fault.Invalid("Of", Text(r.Of), fmt.Sprintf("a slice with elements for a parameter that is a %v", of))
	}
	for i := range list.Len() {
		v := reflect.ValueOf(list.Index(i).Interface())
		if !v.IsValid() || !v.Type().AssignableTo(of) && (v.Kind() != of.Kind() || !v.CanConvert(of)) {
			return nil, fault.Invalid(fmt.Sprintf("Of[%d]", i), Text(list.Index(i).Interface()), fmt.Sprintf("a %v, as the parameter is", of))
		}
		c.add(v.Convert(of))
	}
	return c, nil
}

// slider adds numbers to the control.
func (r Range) slider(c *control, of reflect.Type) error {
	whole := of.Kind() < reflect.Float32
	step := cmp.Or(r.Step, map[bool]float64{true: 1, false: (r.To - r.From) / 100}[whole])
	steps, digits := math.Floor((r.To-r.From)/step+1e-9), 12 // so that 0.1 + 2 · 0.1 is 0.3
	if r.Log {
		steps, digits = 100, 2
	}
	if r.Start == 0 && (r.From > 0 || r.To < 0) {
		r.Start = r.From
	}
	switch {
	case !(r.From < r.To) || math.IsInf(r.To-r.From, 0):
		return fault.Invalid("To", r.To, fmt.Sprintf("finite, and above From = %v", r.From))
	case r.Log && r.From <= 0:
		return fault.Invalid("From", r.From, "> 0 with Log")
	case !(r.Start >= r.From && r.Start <= r.To):
		return fault.Invalid("Start", r.Start, fmt.Sprintf("in [%v, %v]", r.From, r.To))
	case !(step > 0 && steps >= 1 && steps <= 1000):
		return fault.Invalid("Step", step, fmt.Sprintf("> 0, and make 1 to 1000 steps from %v to %v", r.From, r.To))
	}
	numbers := []float64{r.From, r.Start}
	for i := range int(steps) {
		x := r.From + float64(i+1)*step
		if r.Log {
			x = r.From * math.Pow(r.To/r.From, float64(i+1)/steps)
		}
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
		if r.Log && whole {
			x = math.Round(x)
		}
		numbers = append(numbers, min(max(x, r.From), r.To))
	}
	slices.Sort(numbers)
	c.Form = "range"
	for i, x := range slices.Compact(numbers) {
		v := reflect.ValueOf(x).Convert(of)
		if whole && v.Convert(reflect.TypeFor[float64]()).Float() != x {
			return fault.Invalid("From, Start and Step", x, fmt.Sprintf("whole numbers that a %v has", of))
		}
		if c.add(v); x == r.Start {
			c.At = i
		}
	}
	return nil
}

// control is what moves a parameter, as the page has it.
type control struct {
	Name, Form string // "range", "checkbox" or "menu"
	Texts      []string
	At         int // the place of the parameter's value
	values     []reflect.Value
}

func (c *control) add(v reflect.Value) {
	text := Text(v.Interface())
	if v.Kind() == reflect.String { // of a type of its own: without quotes
		text = v.String()
	}
	c.values, c.Texts = append(c.values, v), append(c.Texts, text)
}

// explorer is a call of Explore.
type explorer struct {
	f        reflect.Value
	controls []*control
	head     display.Output
	place    display.Place
}

func newExplorer(f any, ranges []Range) (*explorer, error) {
	e := &explorer{f: reflect.ValueOf(f)}
	if e.f.Kind() != reflect.Func || e.f.IsNil() || e.f.Type().IsVariadic() {
		return nil, fault.Invalid("f", Text(f), "a function with a parameter per range")
	}
	if n := e.f.Type().NumIn(); n != len(ranges) {
		return nil, fault.Invalid("ranges", len(ranges), fmt.Sprintf("%d, one for each parameter of f", n))
	}
	for i, r := range ranges {
		c, err := r.control(e.f.Type().In(i))
		if err != nil {
			return nil, fault.Within(cmp.Or(r.Name, fmt.Sprintf("ranges[%d]", i)), err)
		}
		e.controls = append(e.controls, c)
	}
	return e, nil
}

// String is what the parameters are: "α = 0.3, clients = 20".
func (e *explorer) String() string {
	var all []string
	for _, c := range e.controls {
		all = append(all, c.Name+" = "+c.Texts[c.At])
	}
	return strings.Join(all, ", ")
}

// call calls f, and panics with its error.
func (e *explorer) call() (results []any) {
	var args []reflect.Value
	for _, c := range e.controls {
		args = append(args, c.values[c.At])
	}
	for _, v := range e.f.Call(args) {
		results = append(results, v.Interface())
	}
	return Values(results...)
}

// draw shows values as Show does, but text in an output of its own, which can be replaced.
func draw(values []any) bool {
	for _, v := range values {
		if _, shows := v.(interface{ Show() }); shows || !display.InNotebook() {
			Show(v)
		} else {
			_ = new(display.Output).Text(Text(v), true) // what is sent next will say if nobody is there
		}
	}
	return true
}

// answers is how long the page may take, of which GoNB takes three seconds; patience is how long nothing may be moved.
const answers, patience = 5 * time.Second, 10 * time.Minute

// follow draws after each of the moves: where the controls are, after 1 for the end of the cell and else 0. It returns false if the page
// did not answer.
func (e *explorer) follow(ctx context.Context, moves <-chan []int) (answered bool) {
	for wait := answers; ; wait, answered = patience, true {
		select {
		case <-ctx.Done():
			return true
		case <-time.After(wait):
			return answered
		case move := <-moves:
			if move[0] == 1 {
				return true
			}
			e.place.Draw(func() bool { return e.redraw(ctx, move[1:]) })
		}
	}
}

// redraw calls f if a control was moved, and draws. If the cell was stopped meanwhile, what was drawn before stays.
func (e *explorer) redraw(ctx context.Context, to []int) (drawn bool) {
	var was []int
	for i, c := range e.controls {
		was, c.At = append(was, c.At), min(max(to[i], 0), len(c.values)-1)
	}
	if slices.Equal(was, to) {
		return false
	}
	shown := func() (shown []any) {
		defer func() {
			if p := recover(); p != nil {
				shown = []any{message(p)}
			}
		}()
		return e.call()
	}()
	if ctx.Err() != nil {
		for i, c := range e.controls {
			c.At = was[i]
		}
		return false
	}
	return draw(shown)
}

// latest returns what hears a page: it leaves the latest move in the channel. Moves have numbers, since one may overtake another.
func latest(moves chan []int) (hear func(text string)) {
	var mu sync.Mutex
	last := 0
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		var move []int
		if json.Unmarshal([]byte(text), &move) != nil || len(move) < 2 || move[0] <= last {
			return
		}
		select {
		case <-moves:
		default:
		}
		last = move[0]
		moves <- move[1:]
	}
}

//go:embed explore.html
var page string
