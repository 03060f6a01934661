package datasets

import (
	"slices"
	"testing"
)

func TestByName(t *testing.T) {
	for _, name := range []string{"digits", "Digits"} {
		if d, err := ByName(name); err != nil || d.Name != "digits" {
			t.Errorf("%s: error %v", name, err)
		}
	}
	_, err := ByName("minst")
	if want := `datasets: no data set is named "minst": must be one of digits, mnist, fashion-mnist, cifar-10, femnist`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if want := []string{"digits", "mnist", "fashion-mnist", "cifar-10", "femnist"}; !slices.Equal(Names(), want) {
		t.Errorf("%v, want %v", Names(), want)
	}
}
