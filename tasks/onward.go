package tasks

import (
	"context"
	"crypto/rand"
	"errors"

	"fourfold/flow"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

// A worker that ends a step goes on with one of those that this made runnable: the script that settles the one claims the
// other, so the state is at no time behind, and a chain costs one round trip a step. The claim is like any other: when
// the worker dies, it ends, and the sweeper rings.

// onward says what the worker may go on with; nothing while it is draining.
func (w *Worker) onward(ctx context.Context, j *job) runstate.Onward {
	if w.draining.Load() || errors.Is(context.Cause(ctx), doorbell.ErrStopping) {
		return runstate.Onward{}
	}
	f := j.bundle.Flow()
	on := runstate.Onward{Token: newToken(), Lease: w.cfg.Lease, Steps: make(map[int]runstate.Terms, 1+len(j.step.Children))}
	if j.step.ForEach != nil {
		on.Steps[j.step.Index] = wants(j.step)
	}
	for _, child := range j.step.Children {
		on.Steps[child.Index] = wants(f.Steps[child.Index])
	}
	return on
}

// following is the job that a change handed to this worker; nil: none.
func (j *job) following(ctx context.Context, c runstate.Change, on runstate.Onward) *job {
	if c.Next == nil {
		return nil
	}
	p := j.payload
	p.Unit, p.Redrive, p.Marker = c.Next.Unit, 0, c.Next.Grant.Marker
	granted := c.Next.Grant
	granted.Trace = j.grant.Trace // of the same run: the script need not read it again
	return &job{
		payload: p, bundle: j.bundle, step: j.bundle.Flow().Steps[p.Unit.Step], grant: granted, inline: true,
		rang: traceHeaders(ctx, "")[traceHeader],
		task: runstate.Task{Ref: j.task.Ref, Generation: p.Generation, Unit: p.Unit, Token: on.Token},
	}
}

// giveBack rings for a unit that no doorbell was rung for.
func (w *Worker) giveBack(ctx context.Context, j *job, progress runstate.Progress) {
	word, err := w.store.Park(ctx, j.task, 0, progress)
	if err != nil || word != runstate.Parked {
		return // the claim ends by itself, or the unit is in other hands
	}
	entry := runstate.Entry{Ref: j.task.Ref, Generation: j.Generation, Unit: j.Unit, Redrive: j.Redrive + 1}
	_ = w.relay.entries(ctx, []runstate.Entry{entry}) // else the sweeper rings
}

// wants is what a step reads: the run's input, and its parents' values.
func wants(s *flow.Step) runstate.Terms {
	t := runstate.Terms{WantInput: true}
	for _, need := range s.Needs {
		t.WantValues = append(t.WantValues, need.Index)
	}
	return t
}

func newToken() string { return rand.Text()[:16] }
