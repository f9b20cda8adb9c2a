package tasks

import (
	"context"
	"errors"
	"sync"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks/internal/runstate"
)

// notes makes the attempts of one delivery, and keeps who was asked last and what went wrong there. An attempt that the
// executor left behind may still write to it; what comes after the ending is ignored.
type notes struct {
	strays  *strays
	job     *job
	attempt executor.Attempt[value]

	mu     sync.Mutex
	made   int    // attempts, over all deliveries
	now    *noted // the attempt made last
	closed bool
	last   call
}

type call struct {
	provider provider.Name
	kind     provider.Kind
	reason   provider.Reason
}

type notesKey struct{}

// noted is the context of one attempt, with its notes. Like provider.WithScope's, it lets through what the executor's can do.
type noted struct {
	context.Context //nolint:containedctx // it is a context itself
	notes           *notes
	over, left      bool // under the lock of notes: the attempt has ended; the executor did not wait for that
}

// Value returns the notes, or asks the context beneath.
func (c *noted) Value(key any) any {
	if key == (notesKey{}) {
		return c.notes
	}
	return c.Context.Value(key)
}

// AfterFunc is that of the context beneath.
func (c *noted) AfterFunc(after func()) (stop func() bool) {
	return context.AfterFunc(c.Context, after)
}

// try is one attempt: its calls carry whose they are, and leave a note. The stack of a step in flight is here, so what takes
// much of it is left to others.
func (n *notes) try(ctx context.Context) (executor.Reply[value], error) {
	here := n.begin(ctx)
	defer n.over(here)
	reply, err := n.attempt(here)
	if err != nil {
		n.blame(err)
	}
	return reply, err
}

func (n *notes) begin(ctx context.Context) *noted {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made++
	scope := provider.Scope{Run: n.job.Run.String(), Flow: n.job.bundle.Flow().Name, Step: n.job.step.ID, Attempt: n.made}
	n.now = &noted{Context: provider.WithScope(ctx, scope), notes: n}
	return n.now
}

// over ends an attempt, also one that panics.
func (n *notes) over(here *noted) {
	n.mu.Lock()
	defer n.mu.Unlock()
	here.over = true
	if here.left {
		n.strays.add(n.strayKey(), -1)
	}
}

// leaveBehind counts the last attempt as a stray if it goes on although the executor has stopped waiting for it.
func (n *notes) leaveBehind() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now != nil && !n.now.over && !n.now.left {
		n.now.left = true
		n.strays.add(n.strayKey(), 1)
	}
}

func (n *notes) strayKey() strayKey { return strayKey{n.job.bundle.Flow().Name, n.job.step.ID} }

// blame notes what went wrong: who failed and how; or, where nobody was asked, what the step waits for.
func (n *notes) blame(err error) {
	if e, ok := provider.AsError(err); ok {
		n.note(call{e.Provider(), e.Kind(), e.Reason()})
		return
	}
	if parked, ok := errors.AsType[*executor.Parked](err); ok {
		n.note(awaited(parked.Class))
	}
}

// awaited is what a step waits for that is parked without an attempt, by the class of that.
func awaited(c executor.FailureClass) call {
	switch c {
	case executor.ClassNone, executor.ClassUpstream4xx:
		return call{kind: provider.KindRateLimit}
	case executor.ClassUpstream5xx:
		return call{kind: provider.KindProviderError, reason: provider.ReasonBreakerOpen}
	case executor.ClassTimeout, executor.ClassParse, executor.ClassSchema: // only a handler says so
	}
	return call{}
}

func noteAnswer(ctx context.Context, answer provider.Response) {
	if n, ok := ctx.Value(notesKey{}).(*notes); ok {
		n.note(call{provider: answer.Provider})
	}
}

func (n *notes) note(c call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.last = c
	}
}

func (n *notes) close() call {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	return n.last
}

// end is what came of the attempts.
func (n *notes) end(res executor.Result[value], err error) (*result, error) {
	n.leaveBehind()
	if err != nil {
		return nil, err
	}
	return &result{ending: n.ending(res)}, nil
}

// ending is what the run's state keeps of a result.
func (n *notes) ending(res executor.Result[value]) runstate.Ending {
	env, last := res.Envelope(), n.close()
	if env.Attempts == 0 {
		last = call{}
	}
	if env.Outcome == executor.OutcomeOK {
		last.kind, last.reason = provider.KindNone, provider.ReasonNone
	}
	e := runstate.Ending{
		Outcome: env.Outcome, Cause: runstate.Cause(env.FailureClass),
		End: runstate.StepEnd{
			Attempts: env.Attempts, Latency: env.Latency, Model: env.Model, Usage: env.Usage, Prompted: !env.Prompt.IsZero(),
			Provider: last.provider, ErrorKind: last.kind, Reason: last.reason,
		},
	}
	keep := func(v value) []byte { return v.Reveal() }
	e.Value = executor.Match(res,
		func(r executor.OK[value]) []byte { return keep(r.Value()) },
		func(r executor.Degraded[value]) []byte { return keep(r.Value()) },
		func(r executor.Abstained[value]) []byte { return keep(r.Value()) },
		func(executor.Failed[value]) []byte { return nil })
	return e
}
