package doorbell

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	hold     bool   // after abort: asynq is about to give the rings back by itself
	tally    Result // of the time since drain
}

// run is one call of the handler.
type run struct{ cancel context.CancelCauseFunc }

func newHandling(config ServerConfig) *handling {
	return &handling{config: config, runs: map[*run]struct{}{}}
}

// of returns the handler of one asynq server, which tells its taker when a task has ended.
func (h *handling) of(k *taker) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		defer k.inFlight.Add(-1)
		return h.process(ctx, task)
	})
}

// process is asynq's handler. Its errors are fixed words; panics end here, with only their type kept (D4).
func (h *handling) process(ctx context.Context, task *asynq.Task) error {
	if task.Type() != taskType {
		return errUnknownType
	}
	d := newDelivery(ctx, task)
	handlerCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := h.enter(cancel)
	verdict, panicked := h.call(handlerCtx, d)
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

// call runs the handler and keeps a panic from going further.
func (h *handling) call(ctx context.Context, d Delivery) (verdict Verdict, panicked bool) {
	defer func() {
		if x := recover(); x != nil {
			panicked = true
			h.config.Logger.Error("handler panicked", "queue", d.Queue, "task", d.ID, "type", fmt.Sprintf("%T", x))
		}
	}()
	return h.config.Handler(ctx, d), false
}

func (h *handling) rejected(d Delivery, reason Reason) {
	defer func() {
		if x := recover(); x != nil {
			h.config.Logger.Error("OnRejected panicked", "queue", d.Queue, "task", d.ID, "type", fmt.Sprintf("%T", x))
		}
	}()
	if h.config.OnRejected != nil {
		h.config.OnRejected(d, Reason(reason.text()))
	}
}

func (h *handling) enter(cancel context.CancelCauseFunc) *run {
	r := &run{cancel: cancel}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[r] = struct{}{}
	if h.aborted {
		cancel(ErrStopping)
	}
	return r
}

// leave takes the run off the books, and says whether its answer should be held back for asynq to give the ring back.
func (h *handling) leave(r *run, verdict Verdict, panicked bool) (hold bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, r)
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
