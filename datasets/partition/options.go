package partition

import (
	"fmt"

	"fedkit.example/datasets"
)

// checkClients checks a rule's Clients and the data set.
func checkClients(rule string, clients int, d *datasets.Dataset) error {
	if clients < 1 {
		return fmt.Errorf("partition.%s: Clients = %d: must be at least 1", rule, clients)
	}
	if err := d.Check(); err != nil {
		return fmt.Errorf("partition.%s: %w", rule, err)
	}
	for _, part := range []struct {
		name string
		rows int
	}{{"train", d.Train.Len()}, {"test", d.Test.Len()}} {
		if clients > part.rows {
			return fmt.Errorf("partition.%s: Clients = %d: must be at most %d, the number of %s rows of %s",
				rule, clients, part.rows, part.name, d.Name)
		}
	}
	return nil
}

// checkLabeled is checkClients for a rule that partitions by label.
func checkLabeled(rule string, clients int, d *datasets.Dataset) error {
	if err := checkClients(rule, clients, d); err != nil {
		return err
	}
	if d.Classes == 0 {
		return fmt.Errorf("partition.%s: %s has no labels: use IID for a regression", rule, d.Name)
	}
	return nil
}

// checkOptional reports a negative number of a field with a default.
func checkOptional(rule, field string, n int) error {
	if n < 0 {
		return fmt.Errorf("partition.%s: %s = %d: must be at least 1, or 0 for the default", rule, field, n)
	}
	return nil
}

// checkMin checks a minimum number of rows, if M clients share n.
func checkMin(rule, field string, least, clients int, part string, n int) error {
	if err := checkOptional(rule, field, least); err != nil {
		return err
	}
	if most := n / clients; least > most {
		return fmt.Errorf("partition.%s: %s = %d: must be at most %d, since %s share %d %s rows",
			rule, field, least, most, count(clients), n, part)
	}
	return nil
}

// defaultMin is the default of MinTrain, if M clients share n rows.
func defaultMin(n, clients int) int { return max(1, min(10, n/(2*clients))) }
