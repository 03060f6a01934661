package partition

import (
	"errors"
	"fmt"
)

// Check reports the first thing that is wrong with the deal: a data set that does not pass its own Check, no clients,
// a row out of range or held twice, or a client without a training row or without a test row. Not every row needs to be
// held. The rules of this package make deals that pass; Check is for custom rules.
func (d *Deal) Check() error {
	if d == nil {
		return errors.New("partition: the deal is nil")
	}
	if err := d.Data.Check(); err != nil {
		return fmt.Errorf("partition: %w", err)
	}
	if len(d.Clients) == 0 {
		return errors.New("partition: the deal has no clients: must be at least 1")
	}
	train := func(c Client) []int { return c.Train }
	test := func(c Client) []int { return c.Test }
	if err := checkPart(d.Clients, "train", train, d.Data.Train.Len()); err != nil {
		return err
	}
	return checkPart(d.Clients, "test", test, d.Data.Test.Len())
}

// checkPart checks one part, of n rows.
func checkPart(clients []Client, part string, rows func(Client) []int, n int) error {
	holder := make([]int, n) // of each row: the client's index + 1, 0 for nobody
	for i, c := range clients {
		if len(rows(c)) == 0 {
			return fmt.Errorf("partition: client %d has no %s row: must have at least 1", i, part)
		}
		for _, row := range rows(c) {
			switch {
			case row < 0 || row >= n:
				return fmt.Errorf("partition: client %d: %s row %d: must be in [0, %d)", i, part, row, n)
			case holder[row] == i+1:
				return fmt.Errorf("partition: client %d holds %s row %d twice", i, part, row)
			case holder[row] != 0:
				return fmt.Errorf("partition: %s row %d is held by clients %d and %d", part, row, holder[row]-1, i)
			}
			holder[row] = i + 1
		}
	}
	return nil
}
