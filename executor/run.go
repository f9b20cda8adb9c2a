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
// yet. No attempt starts on a context that has ended.
//
// Run recovers from panics in the step's functions. It is safe for many goroutines.
func Run[T any](ctx context.Context, s Step[T]) (Result[T], error) {
	if problem := s.problem(); problem != "" {
		return nil, &InvalidStepError{Step: s.ID, Problem: problem}
	}
	if ctx.Err() != nil {
		return nil, interrupted(ctx, s.Spent)
	}
	p := progress{started: time.Now(), spent: s.Spent}
	if s.Abstain.on != nil && s.Spent.Attempts == 0 {
		value, abstained, failure := s.Abstain.ask()
		if failure.Class != ClassNone {
			s.tell(0, failure)
			return s.failed(&p, failure.Class), nil
		}
		if abstained {
			return Abstained[T]{usable: usable[T]{hold(s.envelope(&p, OutcomeAbstained, ClassNone), value)}}, nil
		}
	}
	return attempts(ctx, &s, &p)
}

// progress is what a Run has done so far.
type progress struct {
	started time.Time
	spent   Spent        // by this and earlier deliveries; Latency by earlier ones only
	model   ModelVersion // named last
}

// total returns what was spent up to now, this delivery's time included.
func (p *progress) total() Spent {
	spent := p.spent
	spent.Latency += time.Since(p.started)
	return spent
}

// attempts makes attempts until one has a value, is parked, or none may follow.
func attempts[T any](ctx context.Context, s *Step[T], p *progress) (Result[T], error) {
	slot := takeSlot(p.started)
	defer func() { slot.give(p.started) }()
	left, now := s.Budget.Total, p.started
	for {
		if ctx.Err() != nil {
			return nil, interrupted(ctx, p.total())
		}
		a := &attempt[T]{do: s.Attempt}
		wait := min(s.Budget.PerAttempt, left)
		a.open(ctx, now.Add(wait))
		switch slot.race(ctx, a, wait) {
		case wonByContext:
			slot = nil
			return nil, interrupted(ctx, p.total())
		case wonByTimer:
			slot = newSlot()
			a = &attempt[T]{failure: Failure{Class: ClassTimeout, Err: context.DeadlineExceeded}}
		case wonByAnswer:
		}
		p.spent.Usage = p.spent.Usage.Add(a.reply.Usage)
		if a.parked != nil {
			return nil, &Parked{NotBefore: a.parked.NotBefore, Spent: p.total()}
		}
		if a.failure.Class == ClassNone {
			p.spent.Attempts++
			p.model = a.reply.Model
			return OK[T]{usable: usable[T]{hold(s.envelope(p, OutcomeOK, ClassNone), a.reply.Value)}}, nil
		}
		if ctx.Err() != nil {
			return nil, interrupted(ctx, p.total())
		}
		p.spent.Attempts++
		if !a.reply.Model.IsZero() {
			p.model = a.reply.Model
		}
		s.tell(p.spent.Attempts, a.failure)
		left = s.Budget.Total - time.Since(p.started)
		pause, again := s.Budget.pause(p.spent.Attempts, a.failure, left, rand.Float64())
		if !again {
			return s.giveUp(ctx, p, a.failure.Class)
		}
		if !slot.sleep(ctx, pause) {
			return nil, interrupted(ctx, p.total())
		}
		now = time.Now()
		if left = s.Budget.Total - now.Sub(p.started); left <= 0 {
			return s.giveUp(ctx, p, a.failure.Class)
		}
	}
}

// giveUp ends a step whose attempts failed: DEGRADED if it can, FAILED otherwise.
func (s *Step[T]) giveUp(ctx context.Context, p *progress, class FailureClass) (Result[T], error) {
	if ctx.Err() != nil {
		return nil, interrupted(ctx, p.total())
	}
	if s.Degrade != nil {
		value, failure := contain(s.Degrade)
		if failure.Class == ClassNone {
			return Degraded[T]{usable: usable[T]{hold(s.envelope(p, OutcomeDegraded, class), value)}}, nil
		}
		s.tell(p.spent.Attempts, failure)
	}
	return s.failed(p, class), nil
}

// pause returns how long to wait after the n-th attempt, which failed with f, and whether another
// attempt may follow at all. There is none when the pause would use up what is left: a sleep that ends
// in nothing helps nobody. jitter is in [0, 1).
func (b Budget) pause(n int, f Failure, left time.Duration, jitter float64) (pause time.Duration, again bool) {
	if n >= b.Attempts || f.Retry == RetryNo || f.Retry == RetryByClass && !f.Class.retryable() {
		return 0, false
	}
	pause = max(backoff(b.Backoff, n, jitter), f.RetryAfter)
	return pause, pause < left
}

// backoff returns base·2^(n-1)·(0.5..1.0), at most 73 years.
func backoff(base time.Duration, n int, jitter float64) time.Duration {
	const most = time.Duration(1) << 61
	if base == 0 {
		base = DefaultBackoff
	}
	for ; n > 1 && base < most; n-- {
		base *= 2
	}
	return time.Duration(float64(min(base, most)) * (0.5 + jitter/2))
}

// failed makes the result that has no value.
func (s *Step[T]) failed(p *progress, c FailureClass) Result[T] {
	var none T
	return Failed[T]{held: hold(s.envelope(p, OutcomeFailed, c), none)}
}

func (s *Step[T]) envelope(p *progress, o Outcome, c FailureClass) Envelope {
	spent := p.total()
	return Envelope{
		Step: s.ID, Outcome: o, FailureClass: c, Attempts: spent.Attempts, Latency: spent.Latency,
		Model: p.model, Prompt: s.Prompt, Usage: spent.Usage,
	}
}

// ask asks both questions of the pair, the second only after a yes.
func (a Abstain[T]) ask() (value T, abstained bool, failure Failure) {
	abstained, failure = contain(a.on)
	if abstained && failure.Class == ClassNone {
		value, failure = contain(a.to)
	}
	return value, abstained, failure
}

// tell tells the step's owner about a failure. A panic there changes nothing.
func (s *Step[T]) tell(attempt int, f Failure) {
	if s.OnFailure == nil {
		return
	}
	defer func() { _ = recover() }()
	s.OnFailure(attempt, f)
}

// contain calls f; a panic becomes a failure.
func contain[V any](f func() V) (v V, failure Failure) {
	defer func() {
		if r := recover(); r != nil {
			failure = panicked(r)
		}
	}()
	return f(), Failure{}
}
