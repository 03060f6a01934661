package partition

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// inRange refuses a field of a rule outside the range of its tag.
func inRange(rule Rule) error {
	err := config.CheckRanges(rule)
	if err != nil {
		err = fmt.Errorf("partition.%s: %s", reflect.TypeOf(rule).Name(), strings.TrimPrefix(err.Error(), "invalid: "))
	}
	return err
}

// checkClients checks a rule with so many Clients and the data set.
func checkClients(of Rule, clients int, d *datasets.Dataset) error {
	rule := reflect.TypeOf(of).Name()
	if err := inRange(of); err != nil {
		return err
	}
	if clients < 1 {
		return fmt.Errorf("partition.%s: Clients = %d: must be at least 1", rule, clients)
	}
	if err := d.Check(); err != nil {
		return fmt.Errorf("partition.%s: %w", rule, err)
	}
	least, part := d.Train.Len(), "train"
	if n := d.Test.Len(); n < least {
		least, part = n, "test"
	}
	if clients > least {
		return fmt.Errorf("partition.%s: Clients = %d: must be at most %d, the number of %s rows of %s", rule, clients, least, part, d.Name)
	}
	return nil
}

// checkLabeled is checkClients for a rule that partitions by label.
func checkLabeled(of Rule, clients int, d *datasets.Dataset) error {
	if err := checkClients(of, clients, d); err != nil {
		return err
	}
	rule := reflect.TypeOf(of).Name()
	if d.Classes == 0 {
		return fmt.Errorf("partition.%s: %s has no labels: use IID for a regression", rule, d.Name)
	}
	if !d.Labeled() {
		return fmt.Errorf("partition.%s: %s has several labels per example: use IID, or ByTarget around the rule", rule, d.Name)
	}
	return nil
}

// checkPerClient checks how many training rows, or shards of them, each client gets.
func checkPerClient(rule string, n, clients int, d *datasets.Dataset) error {
	if most := d.Train.Len() / clients; n < 1 || n > most {
		return fmt.Errorf("partition.%s: PerClient = %d: must be in [1, %d], since %s share %d train rows", rule, n, most, count(clients), d.Train.Len())
	}
	return nil
}

// checkMin checks a minimum number of rows, if M clients share n.
func checkMin(rule, field string, least, clients int, part string, n int) error {
	if most := n / clients; least > most {
		return fmt.Errorf("partition.%s: %s = %d: must be at most %d, since %s share %d %s rows",
			rule, field, least, most, count(clients), n, part)
	}
	return nil
}

// defaultMin is the default of MinTrain, if M clients share n rows.
func defaultMin(n, clients int) int { return max(1, min(10, n/(2*clients))) }

// several returns "1 class" or "2 classes".
func several(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "s"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// count returns "1 client" or "20 clients".
func count(clients int) string { return several(clients, "client") }

// listed writes "0, 0.5".
func listed[T any](values []T) string {
	text := make([]string, len(values))
	for i, v := range values {
		text[i] = fmt.Sprint(v)
	}
	return strings.Join(text, ", ")
}

// seeded returns ", seed 7", or nothing for seed 0.
func seeded(seed uint64) string {
	if seed == 0 {
		return ""
	}
	return fmt.Sprintf(", seed %d", seed)
}

// stream returns the random stream for one purpose ("train", "shares", at most 24 bytes), so that drawing more for one
// does not shift the others.
func stream(seed uint64, purpose string) rand.Source {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	copy(key[8:], purpose)
	return rand.NewChaCha8(key)
}

// shuffled returns 0..n−1 in random order.
func shuffled(n int, src rand.Source) []int { return rand.New(src).Perm(n) }
