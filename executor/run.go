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
	started := time.Now()
	if result := s.abstain(started); result != nil {
		return result, nil
	}
	p := Prepared[T]{step: s, spent: s.Spent, started: started}
	return p.attempts(ctx)
}

// Prepared is a step that is ready to be run, once, by Run or by Start: all that a run knows.
type Prepared[T any] struct {
	step    Step[T]
	started time.Time
	spent   Spent        // by this and earlier deliveries; Latency by earlier ones only
	model   ModelVersion // named last
	slot    *slot        // nil: there is none, or its goroutine was left behind

	// Of Start alone.
	ctx  context.Context //nolint:containedctx // lives no longer than the run
	done func(Result[T], error)
}

// Prepare is the part of [Run] that needs no context. Errors: *[InvalidStepError].
func Prepare[T any](s Step[T]) (*Prepared[T], error) {
	if problem := s.problem(); problem != "" {
		return nil, &InvalidStepError{Step: s.ID, Problem: problem}
	}
	return &Prepared[T]{step: s, spent: s.Spent}, nil
}

// Run is the rest of the function [Run]; it may be called once.
func (p *Prepared[T]) Run(ctx context.Context) (Result[T], error) {
	if ctx.Err() != nil {
		return nil, interrupted(ctx, p.spent)
	}
	p.started = time.Now()
	if result := p.step.abstain(p.started); result != nil {
		return result, nil
	}
	return p.attempts(ctx)
}

// attempts makes attempts until one has a value, is parked, or none may follow.
func (p *Prepared[T]) attempts(ctx context.Context) (Result[T], error) {
	if ctx.Err() != nil { // it may have taken time to ask whether to abstain
		return nil, interrupted(ctx, p.total())
	}
	p.slot = takeSlot(p.started)
	for now := p.started; ; now = time.Now() {
		if p.slot == nil {
			p.slot = newSlot()
		}
		a := &attempt[T]{} // it may leave goroutines behind that hold it
		wait := p.open(ctx, a, now)
		won := p.slot.race(ctx, a, wait)
		result, again, err := p.judge(ctx, a, won)
		if !again {
			p.slot.give(p.started)
			return result, err
		}
	}
}

// open readies an attempt, and says how long to wait for it.
func (p *Prepared[T]) open(ctx context.Context, a *attempt[T], now time.Time) (wait time.Duration) {
	wait = min(p.step.Budget.PerAttempt, p.step.Budget.Total-now.Sub(p.started))
	a.do = p.step.Attempt
	a.flight.open(ctx, now.Add(wait))
	return wait
}

// judge says what comes of an attempt: again, after a pause that is over; or else the end.
func (p *Prepared[T]) judge(ctx context.Context, a *attempt[T], won winner) (result Result[T], again bool, err error) {
	switch won {
	case wonByContext:
		p.slot = nil
		return nil, false, interrupted(ctx, p.total())
	case wonByTimer:
		p.slot = nil
		a = &attempt[T]{failure: Failure{Class: ClassTimeout, Err: context.DeadlineExceeded}}
	case wonByAnswer:
		p.spent.Usage = p.spent.Usage.Add(a.reply.Usage)
	}
	switch {
	case a.parked != nil:
		return nil, false, &Parked{NotBefore: a.parked.NotBefore, Spent: p.total(), Class: a.parked.Class}
	case a.failure.Class == ClassNone:
		return p.ok(a.reply), false, nil
	case ctx.Err() != nil:
		return nil, false, interrupted(ctx, p.total())
	}
	p.count(a)
	return p.retry(ctx, a.failure)
}

// retry waits until the next attempt may be made, or ends the step.
func (p *Prepared[T]) retry(ctx context.Context, f Failure) (result Result[T], again bool, err error) {
	left := p.step.Budget.Total - time.Since(p.started)
	pause, again := p.step.Budget.pause(p.spent.Attempts, f, left, rand.Float64())
	if !again {
		result, err = p.giveUp(ctx, f.Class)
		return result, false, err
	}
	if p.step.Patience > 0 && f.RetryAfter > p.step.Patience {
		return nil, false, &Parked{NotBefore: time.Now().Add(pause), Spent: p.total(), Class: f.Class}
	}
	if p.slot == nil {
		p.slot = newSlot()
	}
	if !p.slot.sleep(ctx, pause) || ctx.Err() != nil {
		return nil, false, interrupted(ctx, p.total())
	}
	if time.Since(p.started) >= p.step.Budget.Total { // the machine slept longer than we did
		result, err = p.giveUp(ctx, f.Class)
		return result, false, err
	}
	return nil, true, nil
}

// count takes down a failed attempt.
func (p *Prepared[T]) count(a *attempt[T]) {
	p.spent.Attempts++
	if !a.reply.Model.IsZero() {
		p.model = a.reply.Model
	}
	p.step.tell(p.spent.Attempts, a.failure)
}

// giveUp ends a step whose attempts failed: DEGRADED if it can, FAILED otherwise.
func (p *Prepared[T]) giveUp(ctx context.Context, c FailureClass) (Result[T], error) {
	if ctx.Err() != nil {
		return nil, interrupted(ctx, p.total())
	}
	if p.step.Degrade != nil {
		value, failure := contain(p.step.Degrade)
		if failure.Class == ClassNone {
			return p.degraded(value, c), nil
		}
		p.step.tell(p.spent.Attempts, failure)
	}
	return p.failed(c), nil
}

func (p *Prepared[T]) ok(reply Reply[T]) Result[T] {
	p.spent.Attempts++
	p.model = reply.Model
	return OK[T]{usable: usable[T]{hold(p.envelope(OutcomeOK, ClassNone), reply.Value)}}
}

func (p *Prepared[T]) degraded(value T, c FailureClass) Result[T] {
	return Degraded[T]{usable: usable[T]{hold(p.envelope(OutcomeDegraded, c), value)}}
}

func (p *Prepared[T]) failed(c FailureClass) Result[T] {
	var none T
	return Failed[T]{held: hold(p.envelope(OutcomeFailed, c), none)}
}

func (p *Prepared[T]) envelope(o Outcome, c FailureClass) Envelope {
	return p.step.envelope(o, c, p.total(), p.model)
}

// total returns what was spent up to now, this delivery's time included.
func (p *Prepared[T]) total() Spent {
	spent := p.spent
	spent.Latency += time.Since(p.started)
	return spent
}

// abstain asks whether there is anything to do; nil: there is. A question that fails ends the step without an attempt.
func (s *Step[T]) abstain(started time.Time) Result[T] {
	if s.Abstain.on == nil || s.Spent.Attempts > 0 {
		return nil
	}
	value, abstained, failure := s.Abstain.ask()
	spent := s.Spent
	spent.Latency += time.Since(started)
	switch {
	case failure.Class != ClassNone:
		s.tell(0, failure)
		var none T
		return Failed[T]{held: hold(s.envelope(OutcomeFailed, failure.Class, spent, ModelVersion{}), none)}
	case abstained:
		return Abstained[T]{usable: usable[T]{hold(s.envelope(OutcomeAbstained, ClassNone, spent, ModelVersion{}), value)}}
	}
	return nil
}

func (s *Step[T]) envelope(o Outcome, c FailureClass, spent Spent, m ModelVersion) Envelope {
	return Envelope{
		Step: s.ID, Outcome: o, FailureClass: c, Attempts: spent.Attempts, Latency: spent.Latency,
		Model: m, Prompt: s.Prompt, Usage: spent.Usage,
	}
}
