package fedkit

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// needy is a part that looks at the federation.
type needy struct{}

func (needy) Check(fed *Federation, _ int) error {
	if len(fed.Clients) < 2 {
		return Invalid("Size", len(fed.Clients), "at least 2")
	}
	return nil
}

// wordless is an interceptor that cannot describe itself.
type wordless struct{ nudge }

func (wordless) String() string { panic("no words") }

// No method of a federation that is nil, or that New did not make, panics: those that need one say so.
func TestFederationsThatNewDidNotMake(t *testing.T) {
	ctx, of := context.Background(), reflect.TypeFor[*Federation]()
	for _, fed := range []*Federation{nil, {}} {
		for i := range of.NumMethod() {
			name, method := of.Method(i).Name, reflect.ValueOf(fed).Method(i)
			var args []reflect.Value
			for j := range method.Type().NumIn() {
				if arg := reflect.Zero(method.Type().In(j)); arg.Type() == reflect.TypeFor[context.Context]() {
					args = append(args, reflect.ValueOf(ctx))
				} else {
					args = append(args, arg)
				}
			}
			out := method.Call(args)
			err, fails := out[len(out)-1].Interface().(error)
			if name == "Fits" || name == "FitsPairs" || name == "NeedsValidation" || name == "AllTrained" {
				if fails {
					t.Errorf("%s without a federation: %v", name, err)
				}
			} else if last := out[len(out)-1].Type(); last == reflect.TypeFor[error]() && (!fails || !strings.Contains(err.Error(), "invalid: federation = nil: must be made by fedkit.New")) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if _, err := Run(ctx, fed.Intercept(nudge(1)), &mean{}, Options{Rounds: 1}); err == nil || err.Error() != "fedkit: invalid: federation = nil: must be made by fedkit.New" {
			t.Errorf("a run with an interceptor: %v", err)
		}
	}
	if err := Check(needy{}, nil, 3); !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), "needy: invalid: federation = nil: must be made by fedkit.New: panic without one: ") {
		t.Errorf("Check: %v", err)
	}
	fed, _ := toy(t, 4, 4)
	for want, by := range map[string]Interceptor{"interceptor = nil": nil, "interceptor = nil: must be a fedkit.Interceptor": (*wordless)(nil), "interceptor: panic: no words": wordless{}} {
		expect.Error(t, want)(Run(ctx, fed.Intercept(by), &mean{}, Options{Rounds: 1}))
	}
}

func TestHistoriesKeepTheManifest(t *testing.T) {
	fed, _ := toy(t, 4, 9)
	h, err := Run(context.Background(), fed, &mean{Local: Local{Batch: 4, LR: 0.1}}, Options{Rounds: 1})
	expect.OK(t, err)
	file := filepath.Join(t.TempDir(), "h.json")
	expect.OK(t, h.Save(file))
	back := expect.Value(Load(file))(t)
	if want := fed.Manifest(); back.Manifest == nil || !reflect.DeepEqual(*back.Manifest, want) || len(want.Data) != 64 || len(want.Clients) != 64 {
		t.Errorf("manifest %v, want %v", back.Manifest, want)
	}

	// Other data have another manifest; who stands between clients and server has no part in it.
	d := *fed.Data
	d.Train.Labels = slices.Clone(d.Train.Labels)
	d.Train.Labels[0] = 1 - d.Train.Labels[0]%2
	other := expect.Value(fed.WithData(&d, "raised"))(t)
	was, is, same := fed.Manifest(), other.Manifest(), fed.Intercept(nudge(1)).Manifest()
	if was.Data == is.Data || was.Clients != is.Clients || !reflect.DeepEqual(was, same) {
		t.Errorf("manifests %v, %v with other data, %v with an interceptor", was, is, same)
	}

	// A history from before manifests were kept.
	h.Manifest = nil
	expect.OK(t, h.Save(file))
	if back, err = Load(file); err != nil || back.Manifest != nil {
		t.Errorf("%v, %v", back.Manifest, err)
	}
}

// A run says on which device it is.
func TestDescribeSaysWhichDevice(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	h, err := Describe(fed, &mean{Local: Local{Batch: 4, LR: 0.1}}, Options{Rounds: 1})
	if err != nil || !strings.Contains(h.Hardware, " processor") && h.Device == "cpu" {
		t.Errorf("%+v, %v", h, err)
	}
}
