package executor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// strays counts the attempts that Run stopped waiting for and that still run.
var strays atomic.Int64

// Strays returns the number of attempts, process wide, that [Run] stopped waiting for and that still
// run. It falls when they end. A number that keeps growing means attempts that ignore their context.
func Strays() int64 { return strays.Load() }

// attempt is one attempt in flight. The goroutine that works on it owns all but the flight until it
// has answered; then Run does. If Run stops waiting first it never looks at it again.
type attempt[T any] struct {
	flight
	do      Attempt[T]
	reply   Reply[T]
	parked  *Parked // the attempt was not made; what else it says does not count then
	failure Failure // class none: the reply has a value
}

// work makes the attempt. Its error is judged here too, because judging calls methods of the error,
// which may block or panic like anything else of the step's.
func (a *attempt[T]) work() {
	returned := false
	defer func() {
		if !returned {
			a.failure, a.parked = panicked(recover()), nil
		}
	}()
	var err error
	a.reply, err = a.do(&a.flight)
	if err != nil {
		a.parked, _ = errors.AsType[*Parked](err)
		a.failure = Classify(err)
	}
	returned = true
}

// contender is an attempt of any type.
type contender interface {
	work()
	settle(to uint32) bool
	end(err error)
}

// winner says who ended a race.
type winner uint8

const (
	wonByAnswer winner = iota
	wonByTimer
	wonByContext
)

// end is why the attempt's context ends when w has won.
func (w winner) end(ctx context.Context) error {
	switch w {
	case wonByTimer:
		return context.DeadlineExceeded
	case wonByContext:
		return ctx.Err()
	default:
		return context.Canceled
	}
}

// slot is what a race needs beside the attempt. Slots are reused: they are what an attempt would
// otherwise allocate most of.
type slot struct {
	heard chan winner // the answer's word and the timer's; room for both, so that nobody waits to be heard
	timer *time.Timer // says its word there too: to wait for fewer channels costs less
	job   contender
	serve func() // the method run; made once, so that a go statement allocates nothing
}

func newSlot() *slot {
	s := &slot{heard: make(chan winner, 2)}
	s.timer = time.AfterFunc(time.Hour, func() { s.heard <- wonByTimer })
	s.timer.Stop()
	s.serve = s.run
	return s
}

// slots holds those that no goroutine uses.
var slots sync.Pool

func takeSlot(now time.Time) *slot {
	if shared(now) {
		if s, ok := slots.Get().(*slot); ok {
			return s
		}
	}
	return newSlot()
}

// give gives the slot back; nil is none.
func (s *slot) give(now time.Time) {
	if s != nil && shared(now) {
		slots.Put(s)
	}
}

// shared reports whether slots may be pooled where the clock shows now. In a bubble of testing/synctest
// they may not: its channels and timers must not be used outside, nor others inside. A bubble's time
// has no monotonic reading; everywhere else time.Now has one.
func shared(now time.Time) bool { return now != now.Round(0) }

// race makes the attempt on a goroutine of its own and returns as soon as it has answered, wait is
// over, or ctx has ended. After any winner but wonByAnswer the slot must not be used again: the
// goroutine may not even have begun to.
func (s *slot) race(ctx context.Context, job contender, wait time.Duration) winner {
	s.job = job
	s.timer.Reset(wait)
	go s.serve()

	won := s.listen(ctx)
	unheard := 0 // words in the slot, or on their way, when the answer has come
	if !s.timer.Stop() {
		unheard++
	}
	if won == wonByContext {
		unheard++
	}
	if won != wonByAnswer {
		// Counted before it is given up, so that the count cannot fall first.
		strays.Add(1)
		if job.settle(abandoned) {
			job.end(won.end(ctx))
			return won
		}
		strays.Add(-1) // the answer came while the others were ready too
	}
	for ; unheard > 0; unheard-- {
		<-s.heard
	}
	s.job = nil
	job.end(wonByAnswer.end(ctx))
	return wonByAnswer
}

// listen returns the first who is heard.
func (s *slot) listen(ctx context.Context) winner {
	done := ctx.Done()
	if done == nil {
		return <-s.heard
	}
	select {
	case won := <-s.heard:
		return won
	case <-done:
		return wonByContext
	}
}

// run is the attempt's goroutine. It touches nothing of the slot after it has answered.
func (s *slot) run() {
	job := s.job
	defer func() { // also when the attempt ends its goroutine
		if job.settle(answered) {
			s.heard <- wonByAnswer
		} else {
			strays.Add(-1)
		}
	}()
	job.work()
}

// sleep waits for d; false: ctx ended first.
func (s *slot) sleep(ctx context.Context, d time.Duration) bool {
	s.timer.Reset(d)
	if s.listen(ctx) == wonByTimer {
		return true
	}
	if !s.timer.Stop() {
		<-s.heard
	}
	return false
}
