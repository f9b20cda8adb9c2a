package doorbell

import (
	"context"
	"sync/atomic"
)

// Stint is the time in which somebody works on what a handler has taken over (TakeOver). Its methods may be called from any
// goroutine, one after the other.
type Stint struct {
	handling  *handling // nil: it belongs to no server
	run       *run
	queue, id string // of the ring
	over      func() // nil: nobody is told
	ended     atomic.Bool
}

// NewStint returns one that belongs to no server, for who tries a handler without one; over is called at its end.
func NewStint(over func()) *Stint { return &Stint{over: over} }

// Context returns a context that ends with the cause ErrStopping when the server stops waiting, or by cancel, which must be
// called. It takes the place of the one before: a stint has one at a time. It knows nothing of asynq's lease, which has
// been given up.
func (s *Stint) Context() (ctx context.Context, cancel context.CancelCauseFunc) {
	ctx, cancel = context.WithCancelCause(context.Background())
	if s.handling != nil {
		s.handling.mu.Lock()
		defer s.handling.mu.Unlock()
		s.handling.endBy(s.run, cancel)
	}
	return ctx, cancel
}

// Do calls what goes on with the work. A panic ends the stint and goes no further: of its value only the type is kept.
func (s *Stint) Do(work func()) {
	if s.handling != nil {
		defer func() {
			if x := recover(); x != nil {
				s.handling.panicked("handler panicked", s.queue, s.id, x)
				s.end(Verdict{}, true)
			}
		}()
	}
	work()
}

// End says that the work is over: finished, or given back for another worker. Only the first call counts.
func (s *Stint) End(givenBack bool) {
	if givenBack {
		s.end(Again(0), false)
	} else {
		s.end(Handled(), false)
	}
}

func (s *Stint) end(verdict Verdict, panicked bool) {
	if !s.ended.CompareAndSwap(false, true) {
		return
	}
	if s.handling != nil {
		s.handling.leave(s.run, verdict, panicked)
	}
	if s.over != nil {
		s.over()
	}
}
