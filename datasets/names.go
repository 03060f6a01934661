package datasets

import (
	"fmt"
	"strings"
)

// byName lists the data sets that need only a name, in the order of Names.
var byName = []struct {
	name string
	load func() (*Dataset, error)
}{
	{"digits", func() (*Dataset, error) { return Digits(), nil }},
	{"mnist", MNIST},
	{"fashion-mnist", FashionMNIST},
	{"cifar-10", CIFAR10},
	{"femnist", FEMNIST},
}

// Names returns the names that ByName knows.
func Names() []string {
	names := make([]string, len(byName))
	for i, d := range byName {
		names[i] = d.name
	}
	return names
}

// ByName returns the data set of that name, for programs that take it as a flag: "digits" is Digits, "mnist" is MNIST,
// "fashion-mnist" FashionMNIST, "cifar-10" CIFAR10, "femnist" FEMNIST. Case does not matter. The error for an unknown
// name lists the known ones.
func ByName(name string) (*Dataset, error) {
	for _, d := range byName {
		if strings.EqualFold(name, d.name) {
			return d.load()
		}
	}
	return nil, fmt.Errorf("datasets: no data set is named %q: must be one of %s", name, strings.Join(Names(), ", "))
}
