package executor

import (
	"context"
	"math/rand/v2"
	"time"
)

// Run runs the step to its one outcome, by the deadline of Budget.Total at the latest: an attempt that
// ignores its context is left behind, and counted by [Strays].
//
// An error means that there is no outcome, and the result is then nil: *[InvalidStepError] when
// the step cannot be run; *[InterruptedError], which matches [ErrInterrupted], when ctx ended before
// there was a value; *[Parked] when an attempt was not made because its provider must not be called
// yet, or must not be made for longer than Step.Patience. No attempt starts on a context that has ended.
//
// Run recovers from panics in the step's functions. It is safe for many goroutines.
func Run[T any](ctx context.Context, s Step[T]) (Result[T], error) {
	if problem := s.problem(); problem != "" {
		return nil, &InvalidStepError{Step: s.ID, Problem: problem}
	}
	if ctx.Err() != nil {
		return nil, interrupted(ctx, s.Spent)
	}
	r := run[T]{step: s, started: time.Now(), spent: s.Spent}
	if s.Abstain.on != nil && s.Spent.Attempts == 0 {
		value, abstained, failure := s.Abstain.ask()
		if failure.Class != ClassNone {
			s.tell(0, failure)
			return r.failed(failure.Class), nil
		}
		if abstained {
			return r.abstained(value), nil
		}
	}
	r.slot = takeSlot(r.started)
	result, err := r.attempts(ctx)
	r.slot.give(r.started)
	return result, err
}

// run is what one call of Run knows.
type run[T any] struct {
	step    Step[T]
	started time.Time
	spent   Spent        // by this and earlier deliveries; Latency by earlier ones only
	model   ModelVersion // named last
	slot    *slot        // nil when its goroutine was left behind
}

// attempts makes attempts until one has a value, is parked, or none may follow.
func (r *run[T]) attempts(ctx context.Context) (Result[T], error) {
	for now := r.started; ; now = time.Now() {
		a, err := r.attempt(ctx, now)
		switch {
		case err != nil:
			return nil, err
		case a.parked != nil:
			return nil, &Parked{NotBefore: a.parked.NotBefore, Spent: r.total()}
		case a.failure.Class == ClassNone:
			return r.ok(a.reply), nil
		case ctx.Err() != nil:
			return nil, interrupted(ctx, r.total())
		}
		r.count(a)
		left := r.step.Budget.Total - time.Since(r.started)
		pause, again := r.step.Budget.pause(r.spent.Attempts, a.failure, left, rand.Float64())
		if !again {
			return r.giveUp(ctx, a.failure.Class)
		}
		if r.step.Patience > 0 && a.failure.RetryAfter > r.step.Patience {
			return nil, &Parked{NotBefore: time.Now().Add(pause), Spent: r.total(), Class: a.failure.Class}
		}
		if !r.slot.sleep(ctx, pause) {
			return nil, interrupted(ctx, r.total())
		}
		if time.Since(r.started) >= r.step.Budget.Total { // the machine slept longer than we did
			return r.giveUp(ctx, a.failure.Class)
		}
	}
}

// attempt makes one attempt and waits for it as long as it may take. The error is the interruption.
func (r *run[T]) attempt(ctx context.Context, now time.Time) (*attempt[T], error) {
	if ctx.Err() != nil {
		return nil, interrupted(ctx, r.total())
	}
	wait := min(r.step.Budget.PerAttempt, r.step.Budget.Total-now.Sub(r.started))
	a := &attempt[T]{do: r.step.Attempt}
	a.open(ctx, now.Add(wait))
	switch r.slot.race(ctx, a, wait) {
	case wonByContext:
		r.slot = nil
		return nil, interrupted(ctx, r.total())
	case wonByTimer:
		r.slot = newSlot()
		return &attempt[T]{failure: Failure{Class: ClassTimeout, Err: context.DeadlineExceeded}}, nil
	case wonByAnswer:
	}
	r.spent.Usage = r.spent.Usage.Add(a.reply.Usage)
	return a, nil
}

// count takes down a failed attempt.
func (r *run[T]) count(a *attempt[T]) {
	r.spent.Attempts++
	if !a.reply.Model.IsZero() {
		r.model = a.reply.Model
	}
	r.step.tell(r.spent.Attempts, a.failure)
}

// giveUp ends a step whose attempts failed: DEGRADED if it can, FAILED otherwise.
func (r *run[T]) giveUp(ctx context.Context, c FailureClass) (Result[T], error) {
	if ctx.Err() != nil {
		return nil, interrupted(ctx, r.total())
	}
	if r.step.Degrade != nil {
		value, failure := contain(r.step.Degrade)
		if failure.Class == ClassNone {
			return r.degraded(value, c), nil
		}
		r.step.tell(r.spent.Attempts, failure)
	}
	return r.failed(c), nil
}

func (r *run[T]) ok(reply Reply[T]) Result[T] {
	r.spent.Attempts++
	r.model = reply.Model
	return OK[T]{usable: usable[T]{hold(r.envelope(OutcomeOK, ClassNone), reply.Value)}}
}

func (r *run[T]) degraded(value T, c FailureClass) Result[T] {
	return Degraded[T]{usable: usable[T]{hold(r.envelope(OutcomeDegraded, c), value)}}
}

func (r *run[T]) abstained(value T) Result[T] {
	return Abstained[T]{usable: usable[T]{hold(r.envelope(OutcomeAbstained, ClassNone), value)}}
}

func (r *run[T]) failed(c FailureClass) Result[T] {
	var none T
	return Failed[T]{held: hold(r.envelope(OutcomeFailed, c), none)}
}

func (r *run[T]) envelope(o Outcome, c FailureClass) Envelope {
	spent := r.total()
	return Envelope{
		Step: r.step.ID, Outcome: o, FailureClass: c, Attempts: spent.Attempts, Latency: spent.Latency,
		Model: r.model, Prompt: r.step.Prompt, Usage: spent.Usage,
	}
}

// total returns what was spent up to now, this delivery's time included.
func (r *run[T]) total() Spent {
	spent := r.spent
	spent.Latency += time.Since(r.started)
	return spent
}
