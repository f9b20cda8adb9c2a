package job

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Tally counts what a worker does. It is for many goroutines.
type Tally struct {
	step     time.Duration
	clock    *clock
	spread   bool
	marks    map[int64]int // count of finished runs → its place among Spec.Marks
	announce int64
	tell     func(word string, place int, at time.Time)

	begun                                   atomic.Int64 // Unix nanoseconds of the first step
	calls, cut, finished, duplicates, swept atomic.Int64
	writes, written                         atomic.Int64
}

// Trips is how many round trips were counted.
func (t *Tally) Trips() int64 { return t.writes.Load() }

func newTally(s Spec, tell func(word string, place int, at time.Time)) (*Tally, error) {
	c, err := startClock()
	if err != nil {
		return nil, err
	}
	t := &Tally{step: s.Step, clock: c, spread: s.Spread, marks: map[int64]int{}, announce: s.Announce, tell: tell}
	for i, n := range s.Marks {
		t.marks[n] = i
	}
	return t, nil
}

// work is a step: it takes as long as the job says. An error means that ctx ended first.
func (t *Tally) work(ctx context.Context) error {
	if t.calls.Add(1) == 1 {
		t.begun.Store(time.Now().UnixNano())
	}
	if t.step <= 0 {
		return nil
	}
	d := t.step
	if t.spread {
		d = d/2 + rand.N(d)
	}
	select {
	case <-t.clock.after(d):
		return nil
	case <-ctx.Done():
		t.cut.Add(1)
		return ctx.Err()
	}
}

// finish counts a finished run.
func (t *Tally) finish() {
	n := t.finished.Add(1)
	if place, ok := t.marks[n]; ok {
		t.tell(wordMark, place, time.Now())
	}
	if t.announce > 0 && n%t.announce == 0 {
		t.tell(wordDone, 0, time.Now())
	}
}
