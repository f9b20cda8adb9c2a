package doorbell

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

// What asynq is told, stores in Redis and shows in its tools: fixed words only.
var (
	errAgain       = errors.New("fourfold: again later")
	errPanicked    = errors.New("fourfold: the handler panicked")
	errUnknownType = errors.New("fourfold: unknown task type")
)

// againError asks for another delivery.
type againError struct{ after time.Duration }

func (againError) Error() string        { return errAgain.Error() }
func (againError) Is(target error) bool { return target == errAgain }

const (
	// unknownTypeDelay times maxRetry is how long a worker of another version has to appear: about twelve minutes.
	unknownTypeDelay = 30 * time.Second
	mostPanicDelay   = time.Minute
	lostDelay        = time.Second
)

// handling runs the handler for asynq, and knows who runs.
type handling struct {
	config ServerConfig

	mu       sync.Mutex
	runs     map[*run]struct{}
	draining bool
	aborted  bool
	hold     bool          // after abort: asynq is about to give the rings back by itself
	empty    chan struct{} // made by emptied, closed when nobody runs; nil before
	tally    Result        // of the time since drain
}

// run is one call of the handler, or of what it has taken over.
type run struct {
	cancel context.CancelCauseFunc
	taker  *taker // whose place it has
}

func newHandling(config ServerConfig) *handling {
	return &handling{config: config, runs: map[*run]struct{}{}}
}

// of returns the handler of one asynq server, which gives its place to the next when a task has ended.
func (h *handling) of(k *taker) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error { return h.process(ctx, task, k) })
}

// process is asynq's handler. Its errors are fixed words; panics end here, with only their type kept (D4).
func (h *handling) process(ctx context.Context, task *asynq.Task, k *taker) error {
	k.places.occupy()
	if task.Type() != taskType {
		k.places.free()
		return errUnknownType
	}
	d := newDelivery(ctx, task)
	met := k.met.take(d.ID)
	d.Met, d.MetAt = met.said, met.at
	handlerCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := h.enter(cancel, k)
	verdict, panicked := h.call(handlerCtx, d)
	if verdict.kind == takenOver {
		s := &Stint{handling: h, run: r, queue: d.Queue, id: d.ID}
		s.Do(func() { verdict.begin(s) })
		runtime.Gosched() // the work first, then asynq's account of it
		return nil
	}
	hold := h.leave(r, verdict, panicked)
	switch {
	case panicked:
		return errPanicked
	case verdict.kind == handled, verdict.kind == dropped:
		return nil
	case verdict.kind == rejected:
		h.rejected(d, verdict.reason)
		return fmt.Errorf("fourfold: %s: %w", verdict.reason.text(), asynq.SkipRetry)
	case hold:
		// The handler has given up, and asynq is about to: let it put the ring back at the head of the queue, which an
		// answer could not.
		<-ctx.Done()
	}
	return againError{verdict.after}
}

// call runs the handler, and keeps a panic from going further.
func (h *handling) call(ctx context.Context, d Delivery) (verdict Verdict, panicked bool) {
	defer func() {
		if x := recover(); x != nil {
			panicked = true
			h.panicked("handler panicked", d.Queue, d.ID, x)
		}
	}()
	return h.config.Handler(ctx, d), false
}

func (h *handling) panicked(text, queue, id string, x any) {
	h.config.Logger.Error(text, "queue", queue, "task", id, "type", fmt.Sprintf("%T", x))
}

func (h *handling) rejected(d Delivery, reason Reason) {
	defer func() {
		if x := recover(); x != nil {
			h.panicked("OnRejected panicked", d.Queue, d.ID, x)
		}
	}()
	if h.config.OnRejected != nil {
		h.config.OnRejected(d, Reason(reason.text()))
	}
}

func (h *handling) enter(cancel context.CancelCauseFunc, k *taker) *run {
	r := &run{taker: k}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[r] = struct{}{}
	h.endBy(r, cancel)
	return r
}

// endBy makes cancel what abort calls. It is called under the lock.
func (h *handling) endBy(r *run, cancel context.CancelCauseFunc) {
	r.cancel = cancel
	if h.aborted {
		cancel(ErrStopping)
	}
}

// leave takes the run off the books, and says whether its answer should be held back for asynq to give the ring back.
func (h *handling) leave(r *run, verdict Verdict, panicked bool) (hold bool) {
	defer r.taker.places.free()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, r)
	if h.empty != nil && len(h.runs) == 0 {
		close(h.empty)
		h.empty = nil
	}
	if h.draining {
		if panicked || verdict.kind == again {
			h.tally.Requeued++
		} else {
			h.tally.Finished++
		}
	}
	return h.hold
}

func (h *handling) running() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.runs)
}

// emptied is closed when nobody runs. It is asked once, when no more will enter.
func (h *handling) emptied() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	empty := make(chan struct{})
	if len(h.runs) == 0 {
		close(empty)
	} else {
		h.empty = empty
	}
	return empty
}

// drain begins to count how handlers end.
func (h *handling) drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
}

// abort ends the contexts of all handlers. With hold, asynq gives what is left back within giveBack.
func (h *handling) abort(hold bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.aborted, h.hold = true, hold
	for r := range h.runs {
		r.cancel(ErrStopping)
	}
}

func (h *handling) result() Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	result := h.tally
	result.Abandoned = len(h.runs)
	return result
}

// isFailure says which errors use up retries: only those that would otherwise come back for ever. A lost lease, a busy
// step or a stopping worker never does (D5).
func (h *handling) isFailure(err error) bool {
	return errors.Is(err, errPanicked) || errors.Is(err, errUnknownType)
}

// delay is how long asynq waits before the next delivery. asynq calls it outside its own recover (D4), and for rings that
// a lost worker held.
func (h *handling) delay(retried int, err error, _ *asynq.Task) time.Duration {
	var later againError
	switch {
	case errors.As(err, &later):
		return later.after
	case errors.Is(err, errUnknownType):
		return unknownTypeDelay
	case errors.Is(err, errPanicked):
		return jitter(min(time.Second<<min(retried, 10), mostPanicDelay))
	default: // the lease or the context ended
		return jitter(lostDelay)
	}
}

// jitter is between half of d and d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
