package tasks

import (
	"context"
	"sync"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks/internal/runstate"
)

// notes keeps who was asked last, and what went wrong there, over the attempts of one delivery. An attempt that the
// executor left behind may still write to it; what comes after the ending is ignored.
type notes struct {
	strays *strays

	mu     sync.Mutex
	closed bool
	last   call
}

type call struct {
	provider provider.Name
	kind     provider.Kind
	reason   provider.Reason
}

type notesKey struct{}

// watch wraps an attempt so that its calls carry whose they are, and leave a note.
func (n *notes) watch(attempt executor.Attempt[value], j *job) executor.Attempt[value] {
	var mu sync.Mutex
	made := j.grant.Progress.Spent.Attempts
	return func(ctx context.Context) (executor.Reply[value], error) {
		mu.Lock()
		made++
		scope := provider.Scope{Run: j.Run.String(), Flow: j.bundle.Flow().Name, Step: j.step.ID, Attempt: made}
		mu.Unlock()
		ctx = context.WithValue(provider.WithScope(ctx, scope), notesKey{}, n)
		defer n.strays.watch(ctx, scope.Flow, j.step.ID)()
		reply, err := attempt(ctx)
		if e, ok := provider.AsError(err); ok {
			n.note(call{e.Provider(), e.Kind(), e.Reason()})
		}
		return reply, err
	}
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
