package provider

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"fourfold/executor"
)

// call is one call that a guard makes: from the ticket and the gate's place to the record.
type call struct {
	*guard
	ctx    context.Context //nolint:containedctx // lives no longer than the call
	ticket ticket
	leave  func() // gives the gate's place back; nil: no gate
	made   time.Time
	first  time.Duration // until the first token; zero: none yet
	record Call
	err    error // how it ended; until it has, that it was walked away from
}

// begin asks the breaker and the gate. An error means that no call may be made.
func (g *guard) begin(ctx context.Context) (*call, error) {
	if ctx.Err() != nil {
		return nil, g.judge(FromError(ctx, context.Cause(ctx)))
	}
	c := &call{guard: g, ctx: ctx}
	if g.cfg.Breaker != nil {
		now := time.Now()
		t, refused := g.cfg.Breaker.enter(now, isForced(ctx))
		if refused != nil {
			return nil, g.refuse(refused, now)
		}
		c.ticket = t
	}
	if err := c.enterGate(); err != nil {
		return nil, err
	}
	c.made = time.Now()
	c.err = g.judge(Signal{Seen: SeenAborted})
	c.record = Call{Provider: g.Name(), ModelProvider: g.cfg.ModelProvider, Requested: g.cfg.Model, Model: g.cfg.Model, Scope: ScopeOf(ctx)}
	return c, nil
}

// probePause is how long a step is parked at least, so that many of them do not ask all the time whether a probe has ended.
const probePause = time.Second

// refuse is the answer to a call that the breaker does not let through. Where steps can be parked it is no failure that a
// provider asked to be left alone, nor that its probe has not ended: when a provider is back, those who waited for it must not
// have spent their attempts on learning that.
func (g *guard) refuse(r *refusal, now time.Time) error {
	s := Signal{Seen: SeenBreakerOpen, RetryAfter: r.until.Sub(now), HasRetryAfter: true}
	switch {
	case r.probing && g.cfg.Gate != nil:
		return &executor.Parked{NotBefore: latest(r.until, now.Add(probePause)), Class: executor.ClassUpstream5xx}
	case r.byOwner && g.cfg.Gate != nil:
		return &executor.Parked{NotBefore: r.until, Class: executor.ClassUpstream4xx}
	case r.byOwner:
		s.Seen = SeenClosed
	}
	return g.judge(s)
}

// enterGate asks for a place. The ticket is handed back on every way out but the good one, a panic of the gate among them.
func (c *call) enterGate() error {
	if c.cfg.Gate == nil {
		return nil
	}
	entered := false
	defer func() {
		if !entered {
			c.tellBreaker(saysNothing, 0)
		}
	}()
	leave, err := c.cfg.Gate.Enter(c.ctx, c.Name())
	var parked *executor.Parked
	switch {
	case errors.As(err, &parked):
		return parked
	case c.ctx.Err() != nil:
		if err == nil && leave != nil {
			leave()
		}
		return c.judge(FromError(c.ctx, context.Cause(c.ctx)))
	case err != nil:
		leave = nil // a gate that is out of order stops nobody
	}
	c.leave, entered = leave, true
	return nil
}

func (g *guard) judge(s Signal) error {
	s.Provider = g.Name()
	return Judge(s)
}

// watch runs work on a goroutine of its own; failed is told when it panics. The function it returns is called when nobody waits
// for the work any more: if it still runs, it is a stray until it ends.
func (c *call) watch(work func(), failed func(error)) (leave func()) {
	var over atomic.Bool // set by whoever is first: the work that ended, or the guard that left
	go func() {
		returned := false
		defer func() {
			if !returned {
				failed(panicked(recover()))
			}
			if !over.CompareAndSwap(false, true) {
				strays.Add(-1)
			}
		}()
		work()
		returned = true
	}()
	return func() {
		strays.Add(1)
		if !over.CompareAndSwap(false, true) {
			strays.Add(-1)
		}
	}
}

// pump reads the client's stream until its end, or until nobody listens.
func (c *call) pump(ctx context.Context, req Request, pairs chan<- pair) {
	for chunk, err := range c.Client.Stream(ctx, req) {
		if p := (pair{chunk, err}); !send(ctx, pairs, p) || p.ends() {
			return
		}
	}
	send(ctx, pairs, pair{err: c.judge(Signal{Seen: SeenCut})})
}

// relay hands the stream on, under the timers.
func (c *call) relay(ctx context.Context, pairs <-chan pair, yield func(Chunk, error) bool) {
	limits := c.cfg.Timeouts
	var total, token alarm
	total.set(limits.Total)
	defer total.stop()
	token.set(limits.FirstToken)
	defer token.stop()
	silence := SeenFirstTokenTimeout
	for {
		var got pair
		select {
		case got = <-pairs:
		case <-total.c:
			got = late(pairs, c.judge(Signal{Seen: SeenTimeout}))
		case <-token.c:
			got = late(pairs, c.judge(Signal{Seen: silence}))
		case <-ctx.Done():
			got = late(pairs, c.judge(FromError(ctx, context.Cause(ctx))))
		}
		if got.ends() {
			answer, err := c.settle(got)
			yield(Chunk{Done: &answer}, err)
			return
		}
		isToken := got.chunk.IsToken()
		if isToken && c.first == 0 {
			c.first, silence = max(time.Since(c.made), 1), SeenIdleTimeout
		}
		if !yield(got.chunk, nil) {
			return
		}
		if isToken {
			token.set(limits.Idle) // from when the caller listens again
		}
	}
}

// settle takes the end of the call and returns it as the caller is to see it.
func (c *call) settle(end pair) (Response, error) {
	var answer Response
	if end.chunk.Done != nil {
		answer = *end.chunk.Done
	}
	c.err = nil
	if end.err != nil {
		c.err = typed(c.ctx, c.Name(), end.err)
		if e, ok := AsError(c.err); ok && c.first != 0 && e.NextProvider() {
			c.err = afterFirstToken(e)
		}
		answer = Response{Model: answer.Model, Usage: answer.Usage}
	}
	if answer.Model.IsZero() {
		answer.Model = c.cfg.Model
	}
	answer.Provider = c.Name()
	if !c.cfg.ModelProvider.IsZero() {
		answer.ModelProvider = c.cfg.ModelProvider
	}
	if answer.FirstToken == 0 {
		answer.FirstToken = c.first
	}
	c.record.Model, c.record.ModelProvider, c.record.Usage = answer.Model, answer.ModelProvider, answer.Usage
	return answer, c.err
}

// end closes the books of the call, on whatever way it was left.
func (c *call) end() {
	now := time.Now()
	c.record.Duration, c.record.FirstToken = now.Sub(c.made), c.first
	says, retryAfter := c.verdict()
	if retryAfter > 0 && c.cfg.Gate != nil {
		c.closeGate(now.Add(retryAfter))
	}
	if c.leave != nil {
		c.leave()
	}
	c.tellBreaker(says, retryAfter)
	if _, parked := errors.AsType[*executor.Parked](c.err); c.cfg.Observer != nil && !parked {
		c.cfg.Observer.CallFinished(c.ctx, c.record)
	}
}

// verdict completes the record and says what the call tells of the provider, and how long a 429 wants it left alone.
func (c *call) verdict() (report, time.Duration) {
	if c.err == nil {
		return saysUp, 0
	}
	e, ok := AsError(c.err)
	if !ok { // a panic, or a gate within: nothing of the provider's
		c.record.Kind = KindProviderError
		return saysNothing, 0
	}
	c.record.Kind, c.record.Reason, c.record.Status = e.Kind(), e.Reason(), e.Status()
	if e.Reason() == ReasonAborted || e.Reason() == ReasonBreakerOpen {
		return saysNothing, 0
	}
	switch e.Kind() {
	case KindNetwork, KindProviderError:
		return saysDown, 0
	case KindRateLimit:
		after, _ := e.RetryAfter()
		return saysDown, after
	case KindNone, KindAuth, KindInvalidRequest, KindModelUnavailable, KindOutputValidation:
	}
	return saysUp, 0
}

func (c *call) tellBreaker(r report, retryAfter time.Duration) {
	if c.cfg.Breaker == nil {
		return
	}
	open, changed := c.cfg.Breaker.leave(c.ticket, r, retryAfter, time.Now())
	if changed && c.cfg.Observer != nil {
		c.cfg.Observer.BreakerChanged(c.Name(), c.cfg.Model, open)
	}
}

// gatePatience bounds how long a gate may take to hear that a provider is closed.
const gatePatience = time.Second

// closeGate tells the fleet, also when the caller is gone by now.
func (c *call) closeGate(until time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), gatePatience)
	defer cancel()
	c.cfg.Gate.Close(ctx, c.Name(), until)
}
