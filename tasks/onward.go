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
	if j.step.ForEach != nil { // its next item has the same inputs; of those that follow it, the list is not known yet
		on.Steps[j.step.Index] = runstate.Terms{}
		for _, child := range j.step.Children {
			on.Steps[child.Index] = j.lacking(f.Steps[child.Index], runstate.Whole)
		}
		return on
	}
	for _, child := range j.step.Children {
		on.Steps[child.Index] = j.lacking(f.Steps[child.Index], j.step.Index)
	}
	return on
}

// lacking is what the worker must be handed for a step beside what it has: the run's input, the values of its own step's
// parents, and that of the step made, which it has just ended (runstate.Whole: none).
func (j *job) lacking(s *flow.Step, made int) runstate.Terms {
	var t runstate.Terms
	for _, need := range s.Needs {
		if _, has := j.grant.Parents[need.Index]; !has && need.Index != made {
			t.WantValues = append(t.WantValues, need.Index)
		}
	}
	return t
}

// following is the job that a change handed to this worker, with what it was not handed since it has it; nil: none. r is
// the result of j; nil when j was split into items.
func (j *job) following(ctx context.Context, c runstate.Change, on runstate.Onward, r *result) *job {
	if c.Next == nil {
		return nil
	}
	next := j.bundle.Flow().Steps[c.Next.Unit.Step]
	p := j.payload
	p.Unit, p.Redrive, p.Marker = c.Next.Unit, 0, c.Next.Grant.Marker
	return &job{
		payload: p, bundle: j.bundle, step: next, grant: j.handOn(c.Next.Grant, next, r),
		rang: traceHeaders(ctx, "")[traceHeader],
		task: runstate.Task{Ref: j.task.Ref, Generation: p.Generation, Unit: p.Unit, Token: on.Token},
	}
}

// handOn adds to a grant what the worker was not handed again.
func (j *job) handOn(g runstate.Grant, next *flow.Step, r *result) runstate.Grant {
	g.Input, g.Trace = j.grant.Input, j.grant.Trace
	for _, need := range next.Needs {
		if o, has := j.grant.Parents[need.Index]; has {
			g.Parents[need.Index] = o
		}
		if v, has := j.grant.Values[need.Index]; has {
			g.Values[need.Index] = v
		}
		if need.Index == j.step.Index && r != nil && j.Unit.Item == runstate.Whole {
			g.Parents[need.Index] = r.ending.Outcome
			if r.ending.Value != nil {
				g.Values[need.Index] = r.ending.Value
			}
		}
	}
	return g
}

// giveBack rings for a unit that this worker has claimed and will not finish.
func (w *Worker) giveBack(ctx context.Context, j *job, progress runstate.Progress) {
	word, err := w.store.Park(ctx, j.task, 0, progress)
	if err != nil || word != runstate.Parked {
		return // the claim ends by itself, or the unit is in other hands
	}
	entry := runstate.Entry{Ref: j.task.Ref, Generation: j.Generation, Unit: j.Unit, Redrive: j.Redrive + 1}
	_ = w.relay.entries(ctx, []runstate.Entry{entry}, ahead) // else the sweeper rings
}

// wants is what a step reads: the run's input, and its parents' values.
func wants(s *flow.Step) runstate.Terms {
	t := runstate.Terms{WantInput: true, WantTrace: true}
	for _, need := range s.Needs {
		t.WantValues = append(t.WantValues, need.Index)
	}
	return t
}

func newToken() string { return rand.Text()[:16] }
