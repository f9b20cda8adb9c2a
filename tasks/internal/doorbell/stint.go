package doorbell

import (
	"context"
	"time"
)

// Stint is the time in which a handler works on what it has taken over (TakeOver). The zero value belongs to no server.
type Stint struct {
	handling  *handling
	run       *run
	queue, id string // of the ring
	work      func(*Stint) Verdict
}

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

// through is the stint, on its own goroutine. Work waits here for long, so what takes stack is left to others.
func (s *Stint) through() {
	verdict, panicked := s.handling.call(s.queue, s.id, s.do)
	s.handling.leave(s.run, verdict, panicked)
}

func (s *Stint) do() Verdict {
	work := s.work
	s.work = nil // it may hold what only the beginning needs
	return work(s)
}

// longestAwait bounds the wait for a free place: asynq reckons a task's lease from before it.
const longestAwait = 5 * time.Second

// await waits until a place is free for what take brings; false: the time is over, or the yard is closed. asynq itself waits
// only for what it knows of, and nothing of what was taken over is among that.
func (k *taker) await() bool {
	if int(k.inFlight.Load()) < k.slots {
		return true
	}
	over := time.NewTimer(longestAwait)
	defer over.Stop()
	for int(k.inFlight.Load()) >= k.slots {
		select {
		case <-k.freed:
		case <-over.C:
			return false
		case <-k.yard.stop:
			return false
		}
	}
	return true
}

// free gives the place of a task that has ended to the next.
func (k *taker) free() {
	k.inFlight.Add(-1)
	select {
	case k.freed <- struct{}{}:
	default:
	}
}
