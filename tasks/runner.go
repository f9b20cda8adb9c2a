package tasks

import (
	"context"
	"errors"
	"time"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

// Reasons with which a task is archived.
const (
	reasonUndecodable doorbell.Reason = "undecodable task"
	reasonWrongQueue  doorbell.Reason = "task on another queue than its run"
)

// redisPause is how long a task waits when Redis could not be asked.
const redisPause = time.Second

// job is one delivery of one unit.
type job struct {
	payload
	task   runstate.Task
	bundle *flow.Bundle
	step   *flow.Step
	grant  runstate.Grant
	inline bool   // gone on with: no doorbell was rung for it
	next   *job   // what the worker goes on with; nil: nothing
	rang   string // traceparent of who rang the doorbell; empty: not known
}

// handle answers one doorbell. Whatever it answers, the run's state alone says what was done.
func (w *Worker) handle(ctx context.Context, d doorbell.Delivery) doorbell.Verdict {
	if w.draining.Load() { // taken in the moment in which the worker began to stop: for another one
		return doorbell.Again(0)
	}
	p, err := decodePayload(d.Payload)
	if err != nil {
		return doorbell.Reject(reasonUndecodable)
	}
	if p.Run.Queue() != d.Queue {
		return doorbell.Reject(reasonWrongQueue)
	}
	j := &job{payload: p, task: runstate.Task{Ref: p.Run.ref(), Generation: p.Generation, Unit: p.Unit, Token: newToken()}, rang: d.Headers[traceHeader]}
	j.bundle, err = w.bundles.get(ctx, p.SHA)
	switch {
	case errors.Is(err, errBundle):
		return w.reject(ctx, j)
	case err != nil:
		return doorbell.Again(redisPause)
	case p.Unit.Step >= len(j.bundle.Flow().Steps):
		return doorbell.Reject(reasonUndecodable)
	}
	j.step = j.bundle.Flow().Steps[p.Unit.Step]
	verdict := w.begin(ctx, j)
	for j.next != nil {
		j = j.next
		verdict = w.work(ctx, j)
	}
	return verdict
}

func (w *Worker) begin(ctx context.Context, j *job) doorbell.Verdict {
	change, grant, err := w.store.Begin(ctx, j.task, w.terms(j))
	if err != nil {
		return doorbell.Again(redisPause)
	}
	switch change.Word {
	case runstate.Claimed:
		j.grant = grant
		return w.work(ctx, j)
	case runstate.Overdue, runstate.Crashed:
		w.changed(ctx, j, change, nil)
		return doorbell.Handled()
	case runstate.Done, runstate.Busy:
		w.cfg.Observer.StepDuplicate(ctx, j.bundle.Flow().Name, j.step.ID)
	default: // gone, stale
	}
	return doorbell.Drop()
}

func (w *Worker) terms(j *job) runstate.Terms {
	t := wants(j.step)
	t.Lease, t.MaxDeliveries = w.cfg.Lease, w.cfg.MaxDeliveries
	return t
}

// reject ends a run whose bundle no worker will ever have. First it sees to it that no further one is made.
func (w *Worker) reject(ctx context.Context, j *job) doorbell.Verdict {
	if err := w.store.LostBundle(ctx, j.task.Queue, j.SHA.String()); err != nil {
		return doorbell.Again(redisPause)
	}
	change, err := w.store.Reject(ctx, j.task.Ref, j.Generation)
	if err != nil {
		return doorbell.Again(redisPause)
	}
	w.cfg.Logger.Error("run rejected: its bundle is gone or unreadable", "run", j.Run, "bundle", j.SHA)
	w.rejected(ctx, j, change)
	return doorbell.Handled()
}

// work runs a claimed unit. asynq's context ends also when asynq loses its own lease, as in an outage of Redis; a call
// that has been paid for goes on all the same, and only a stopping worker, a lost claim or the run's deadline cut it.
func (w *Worker) work(asynq context.Context, j *job) doorbell.Verdict {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(asynq))
	defer cancel(nil)
	stop := context.AfterFunc(asynq, func() {
		if cause := context.Cause(asynq); errors.Is(cause, doorbell.ErrStopping) {
			cancel(cause)
		}
	})
	defer stop()
	ctx, drop := w.claims.hold(ctx, j.task)
	defer drop()
	if j.grant.Left > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, j.grant.Left, errDeadline)
		defer end()
	}
	ctx, span := w.traceStep(ctx, j)
	defer span.End()
	res, err := w.execute(ctx, j)
	var parked *executor.Parked
	var elsewhere *elsewhereError
	var cut *executor.InterruptedError
	switch {
	case err == nil && res.items != nil:
		return w.expand(ctx, j, res.items)
	case err == nil:
		return w.complete(ctx, j, res)
	case errors.As(err, &parked):
		return w.park(ctx, j, parked, j.giveUpWaiting)
	case errors.As(err, &elsewhere):
		return w.park(ctx, j, elsewhere.parked, unserved)
	case errors.As(err, &cut):
		return w.interrupted(ctx, j, cut)
	}
	w.cfg.Logger.Error("step cannot be run", "run", j.Run, "step", j.step.ID)
	return w.complete(ctx, j, failure(executor.ClassParse, j.grant.Progress.Spent))
}

// errDeadline ends the work on a run that is past its deadline.
var errDeadline = errors.New("tasks: the run's deadline has passed")

// interrupted says what becomes of a unit whose work was cut.
func (w *Worker) interrupted(ctx context.Context, j *job, cut *executor.InterruptedError) doorbell.Verdict {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errDeadline): // the script sees the deadline too, and ends the run
		traceEnding(ctx, endedDeadline)
		return w.begin(context.WithoutCancel(ctx), &job{payload: j.payload, task: j.task, bundle: j.bundle, step: j.step, inline: j.inline})
	case errors.Is(cause, doorbell.ErrStopping):
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisPause)
		defer cancel()
		progress := j.grant.Progress
		progress.Spent = cut.Spent
		traceEnding(ctx, endedReleased)
		if j.inline { // asynq knows nothing of it, and would put back only what this worker began with
			w.giveBack(short, j, progress)
			return doorbell.Handled()
		}
		_, _ = w.store.Release(short, j.task, progress) // else the claim ends by itself
		return doorbell.Again(0)
	}
	traceEnding(ctx, string(runstate.Lost))
	return doorbell.Drop() // lost: cancelled, or in other hands
}

// park gives the unit back until its provider may be called, unless it has been kept waiting too long.
func (w *Worker) park(ctx context.Context, j *job, p *executor.Parked, tooLong func(*executor.Parked) *result) doorbell.Verdict {
	progress := j.grant.Progress
	progress.Spent = p.Spent
	if progress.Parked.IsZero() {
		progress.Parked = time.Now()
	}
	if p.NotBefore.Sub(progress.Parked) > w.maxWait(j) {
		return w.complete(ctx, j, tooLong(p))
	}
	wait := max(time.Until(p.NotBefore), 0)
	word, err := w.store.Park(ctx, j.task, wait, progress)
	if err != nil {
		return doorbell.Again(redisPause)
	}
	traceEnding(ctx, string(word))
	if word == runstate.Parked {
		w.parked.Add(1)
		time.AfterFunc(wait, func() { w.parked.Add(-1) })
		w.cfg.Observer.StepParked(ctx, j.bundle.Flow().Name, j.step.ID, wait)
	}
	return doorbell.Handled()
}

func (w *Worker) maxWait(j *job) time.Duration {
	if j.step.MaxWait > 0 {
		return j.step.MaxWait
	}
	return w.cfg.MaxWait
}

func (w *Worker) expand(ctx context.Context, j *job, items [][]byte) doorbell.Verdict {
	on := w.onward(ctx, j)
	return w.record(ctx, j, nil, on, func(ctx context.Context) (runstate.Change, error) {
		return w.store.Expand(ctx, j.task, j.step.ForEach.MaxInFlight, items, on)
	})
}

func (w *Worker) complete(ctx context.Context, j *job, r *result) doorbell.Verdict {
	ending := r.ending
	ending.Carried, ending.Onward = j.Marker, w.onward(ctx, j)
	return w.record(ctx, j, r, ending.Onward, func(ctx context.Context) (runstate.Change, error) {
		return w.store.Complete(ctx, j.task, ending)
	})
}

// recordFor is how long a worker tries to record what has been paid for, while Redis does not answer.
const recordFor = 2 * time.Minute

// record writes what came of the work, relays what it made runnable, and tells the observer.
func (w *Worker) record(ctx context.Context, j *job, r *result, on runstate.Onward, write func(context.Context) (runstate.Change, error)) doorbell.Verdict {
	ctx = context.WithoutCancel(ctx)
	give, cancel := context.WithTimeout(ctx, recordFor)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		change, err := write(give)
		if err == nil {
			if change.Word == runstate.Done {
				w.cfg.Observer.StepDuplicate(ctx, j.bundle.Flow().Name, j.step.ID)
			}
			traceChange(ctx, j, change, r)
			w.changed(ctx, j, change, r)
			j.next = j.following(ctx, change, on, r)
			return doorbell.Handled()
		}
		w.cfg.Logger.Warn("step could not be recorded yet", "run", j.Run, "step", j.step.ID)
		if !pause(give, wait) || w.stopped.Err() != nil {
			return doorbell.Again(redisPause)
		}
	}
}
