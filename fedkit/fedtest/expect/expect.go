// Package expect says in one line what tests expect, mostly of errors.
package expect

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"fedkit.example/fedkit/internal/fault"
)

// Long skips a test with -short, and says why it can be left out.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why)
	}
}

// That reports what is wrong unless it holds: expect.That(t, n == 3, "%d clients, want 3", n).
func That(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// Must is That, and ends the test.
func Must(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(format, args...)
	}
}

// OK ends the test if there is an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value returns what a call returned, or ends the test with its error: expect.Value(os.ReadFile(path))(t).
func Value[V any](v V, err error) func(t testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		OK(t, err)
		return v
	}
}

// Values is Value for a call that returns two values and an error.
func Values[V, W any](v V, w W, err error) func(t testing.TB) (V, W) {
	return func(t testing.TB) (V, W) {
		t.Helper()
		OK(t, err)
		return v, w
	}
}

// Error takes an error, or what a call returned with an error, and reports if the error is nil or lacks any of the words:
// expect.Error(t, "round 2")(fedkit.Run(ctx, fed, s, o)).
func Error(t testing.TB, words ...string) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		err, _ := results[len(results)-1].(error)
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("error %v\nwant %s", err, w)
			}
		}
		if err == nil && words == nil {
			t.Error("no error")
		}
	}
}

// Invalid is Error for an error that is fedkit.ErrInvalid.
func Invalid(t testing.TB, words ...string) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		if err, _ := results[len(results)-1].(error); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("error %v, want fedkit.ErrInvalid", err)
		}
		Error(t, words...)(results...)
	}
}

// Refused is Invalid for a call that must return nothing but the error.
func Refused(t testing.TB, words ...string) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		Invalid(t, words...)(results...)
		for _, v := range results[:len(results)-1] {
			if r := reflect.ValueOf(v); r.IsValid() && !r.IsZero() {
				t.Errorf("%v, besides the error %v", v, results[len(results)-1])
			}
		}
	}
}

// Outcome is Error where there are words, and expects no error where there are none, for tables of both.
func Outcome(t testing.TB, words string) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		if err := results[len(results)-1]; words == "" && err != nil {
			t.Errorf("error %v", err)
		} else if words != "" {
			Error(t, words)(results...)
		}
	}
}
