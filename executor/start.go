package executor

import (
	"context"
	"sync"
	"time"
)

// Start is [Prepared.Run] for a caller that does not wait: no goroutine is held for a step in flight but that of its attempt.
//
// With waiting, done is called once, on another goroutine and perhaps before Start has returned, with what Run would have
// returned. Otherwise there was nothing to wait for, result or err say what came of it, and done is never called.
func (p *Prepared[T]) Start(ctx context.Context, done func(Result[T], error)) (result Result[T], waiting bool, err error) {
	if ctx.Err() != nil {
		return nil, false, interrupted(ctx, p.spent)
	}
	p.started = time.Now()
	if result := p.step.abstain(p.started); result != nil {
		return result, false, nil
	}
	if ctx.Err() != nil { // it may have taken time to ask whether to abstain
		return nil, false, interrupted(ctx, p.total())
	}
	p.ctx, p.done = ctx, done
	p.launch(p.started)
	return nil, true, nil
}

// launched is an attempt that nobody waits for. Its answer, its timer and the end of the caller's context race by settle, and
// the winner goes on with the step, on the winner's goroutine.
type launched[T any] struct {
	attempt[T]
	prepared *Prepared[T]

	arming  sync.Mutex // held until both of these are there
	timer   *time.Timer
	unwatch func() bool
}

// launch makes an attempt.
func (p *Prepared[T]) launch(now time.Time) {
	l := &launched[T]{prepared: p}
	wait := p.open(p.ctx, &l.attempt, now)
	l.arming.Lock()
	l.timer = time.AfterFunc(wait, l.late)
	l.unwatch = context.AfterFunc(p.ctx, l.cut)
	l.arming.Unlock()
	go l.fly()
}

// fly is the attempt's goroutine.
func (l *launched[T]) fly() {
	defer l.landed() // also when the attempt ends its goroutine
	l.work()
}

func (l *launched[T]) landed() {
	if !l.settle(answered) {
		strays.Add(-1)
		return
	}
	l.goOn(wonByAnswer)
}

func (l *launched[T]) late() { l.leaveBehind(wonByTimer) }
func (l *launched[T]) cut()  { l.leaveBehind(wonByContext) }

// leaveBehind goes on without the attempt, unless it has answered.
func (l *launched[T]) leaveBehind(won winner) {
	strays.Add(1) // before it is given up, so that the count cannot fall first
	if !l.settle(abandoned) {
		strays.Add(-1)
		return
	}
	l.goOn(won)
}

// goOn is called by the winner of the race: with the next attempt, or the end.
func (l *launched[T]) goOn(won winner) {
	l.arming.Lock()
	timer, unwatch := l.timer, l.unwatch
	l.arming.Unlock()
	timer.Stop()
	unwatch()
	p := l.prepared
	l.end(won.end(p.ctx))
	result, again, err := p.judge(p.ctx, &l.attempt, won)
	if again {
		p.launch(time.Now())
		return
	}
	p.done(result, err)
}
