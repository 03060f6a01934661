package sim

import (
	"bytes"
	"encoding/gob"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// Events are popped in order, whatever order they were pushed in: none is lost, and none comes twice.
func TestQueueOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var events []Event
		for i := range rng.IntN(100) { // with many ties
			events = append(events, Event{float64(rng.IntN(5)), rng.IntN(3), rng.IntN(4), i})
		}
		q := queue(t, events...)
		slices.SortFunc(events, func(a, b Event) int { // times, turns, clients and numbers are whole and small
			return int(1e6*(a.Time-b.Time)) + 1e4*(a.Turn-b.Turn) + 1e3*(a.Client-b.Client) + a.Number - b.Number
		})
		got := drain(q)
		expect.Must(t, slices.Equal(got, events) && q.Len() == 0, "%v, want %v", got, events)
	}
}

func queue(t testing.TB, events ...Event) *Queue {
	q := &Queue{}
	for _, e := range events {
		push(t, q, e)
	}
	return q
}

func push(t testing.TB, q *Queue, e Event) { expect.OK(t, q.Push(e)) }

func drain(q *Queue) (events []Event) {
	for e, ok := q.Pop(); ok; e, ok = q.Pop() {
		events = append(events, e)
	}
	return events
}

// simulate lets clients work without a break, piece by piece, until an hour of the clock. Each piece takes minutes to an
// hour of a device that is on for half of the day.
func simulate(t testing.TB, clients int, hours float64, each func(q *Queue, e Event)) (pieces int) {
	devices := must(Devices{
		PerExample: Uniform{0.3, 3.6}, Latency: Constant(1), OnFor: Constant(12 * 3600), OffFor: Constant(12 * 3600),
	}.Draw(clients))
	q := &Queue{}
	begin := func(client, number int) {
		on := devices[client].On
		push(t, q, Event{Time: on.Finish(q.Now, devices[client].Compute(1000, 0)+devices[client].Send(1e6)), Client: client, Number: number})
	}
	for i := range devices {
		begin(i, 0)
	}
	for q.Events[0].Time <= 3600*hours {
		e, _ := q.Pop()
		each(q, e)
		begin(e.Client, e.Number+1)
		pieces++
	}
	return pieces
}

// In a simulation, time never runs back, each client's pieces arrive one by one, and all clients stay at work.
func TestQueueInASimulation(t *testing.T) {
	const clients = 100
	next, now := make([]int, clients), 0.0
	pieces := simulate(t, clients, 200, func(q *Queue, e Event) {
		expect.Must(t, e.Time >= now && e.Time == q.Now && e.Number == next[e.Client] && q.Len() == clients-1,
			"%v after second %v: client %d is at piece %d, %d events wait", e, now, e.Client, next[e.Client], q.Len())
		now = e.Time
		next[e.Client]++
	})
	for client, n := range next {
		if pieces -= n; n < 90 { // 200 h, half of them on, an hour per piece
			t.Errorf("client %d has done %d pieces of work", client, n)
		}
	}
	expect.That(t, pieces == 0, "%d pieces are missing", pieces)
}

// A queue that is saved and restored continues as the original does.
func TestQueueIsSaved(t *testing.T) {
	q := queue(t, Event{3, 0, 0, 0}, Event{1, 0, 5, 0}, Event{1, 0, 2, 7}, Event{2, 0, 2, 8})
	q.Pop()
	var file bytes.Buffer
	expect.OK(t, gob.NewEncoder(&file).Encode(q))
	read := &Queue{}
	err := gob.NewDecoder(&file).Decode(read)
	expect.Must(t, err == nil && reflect.DeepEqual(read, q), "%+v, want %+v; %v", read, q, err)
	push(t, q, Event{2, 0, 1, 1})
	push(t, read, Event{2, 0, 1, 1})
	if got, want := drain(read), drain(q); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestQueueRefusals(t *testing.T) {
	q := queue(t, Event{Time: 5})
	if e, ok := q.Pop(); !ok || e.Time != 5 {
		t.Fatal(e, ok)
	}
	if e, ok := q.Pop(); ok || q.Now != 5 {
		t.Errorf("an empty queue has %v at second %v", e, q.Now)
	}
	for _, test := range []struct {
		time float64
		want string
	}{
		{4, "sim.Queue: Event.Time = 4 of client 3: must be a number ≥ 5, which is now"},
		{math.NaN(), "sim.Queue: Event.Time = NaN of client 3: must be a number ≥ 5, which is now"},
		{math.Inf(1), "sim.Queue: Event.Time = +Inf of client 3: must be a number ≥ 5, which is now"},
	} {
		err := q.Push(Event{Time: test.time, Client: 3})
		expect.That(t, said(err) == test.want && q.Len() == 0, "%v, want %q", err, test.want)
	}
	push(t, q, Event{Time: 5})
}

// 1,000 clients work for 1,000 hours: some 1.4 million pieces of work, in 2 s at most.
func BenchmarkThousandHours(b *testing.B) {
	for b.Loop() {
		pieces := simulate(b, 1000, 1000, func(*Queue, Event) {})
		b.ReportMetric(float64(pieces), "pieces/op")
	}
}
