package flight_test

import (
	"bytes"
	"encoding/gob"
	"reflect"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/flight"
)

// What was saved when there was a queue beside the jobs is read without it.
func TestStatesWithAQueueAreRead(t *testing.T) {
	type event struct{ Time float64 }
	type queue struct {
		Now    float64
		Events []event
	}
	jobs := []flight.Job{{Client: 3, Number: 7, Arrived: 9}, {Client: 1, Number: 8, Arrived: 5}, {Client: 2, Number: 9, Round: 1, Arrived: 5}}
	var file bytes.Buffer
	expect.OK(t, gob.NewEncoder(&file).Encode(struct {
		Queue queue
		Jobs  []flight.Job
		Begun int
	}{queue{4, []event{{5}, {9}}}, jobs, 9}))
	var back flight.InFlight
	expect.OK(t, gob.NewDecoder(&file).Decode(&back))
	expect.That(t, reflect.DeepEqual(back, flight.InFlight{Jobs: jobs, Begun: 9}) && back.Next() == 1, "%+v, next %d", back, back.Next())
}
