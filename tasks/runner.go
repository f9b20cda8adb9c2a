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
	work   work
	next   *job   // what the worker goes on with; nil: nothing
	leave  func() // gives back the place of a suspect; nil: it is none
	rang   string // traceparent of who rang the doorbell; empty: not known
}

// letGo gives back what the worker keeps for the unit beside its claim.
func (j *job) letGo() {
	if j.leave != nil {
		j.leave()
	}
}

// handle answers one doorbell. Whatever it answers, the run's state alone says what was done. Once the unit is claimed the
// doorbell has done its work: the claim says that it is in hands, and the sweeper rings when those are gone. So asynq holds
// nothing for a step in flight, neither goroutines nor a lease, and its list of active tasks, which it searches from end to
// end for each that is finished, stays short.
func (w *Worker) handle(ctx context.Context, d doorbell.Delivery) doorbell.Verdict {
	j, verdict := w.claim(ctx, d)
	if j == nil {
		return verdict
	}
	safely(func() { j.work = w.prepare(j) }, j.letGo) // the claim ends by itself
	return doorbell.TakeOver(func(s *doorbell.Stint) { w.workOn(s, j) })
}

// claim begins the unit that a doorbell was rung for, unless it was begun when the doorbell was taken. Without a job there is
// nothing to work on, for the reason told.
func (w *Worker) claim(ctx context.Context, d doorbell.Delivery) (*job, doorbell.Verdict) {
	p, err := decodePayload(d.Payload)
	if err != nil {
		return nil, doorbell.Reject(reasonUndecodable)
	}
	if p.Run.Queue() != d.Queue {
		return nil, doorbell.Reject(reasonWrongQueue)
	}
	met := runstate.MetBy(d.Met)
	j := &job{payload: p, rang: d.Headers[traceHeader]}
	j.task = met.Under(runstate.Task{Ref: p.Run.ref(), Generation: p.Generation, Unit: p.Unit, Token: newToken()})
	if w.draining.Load() { // taken in the moment in which the worker began to stop: for another one
		return nil, w.handBack(ctx, j, met, 0)
	}
	j.bundle, err = w.bundles.get(ctx, p.SHA)
	if time.Since(d.MetAt) > w.cfg.Lease/3 { // who was held up on the way asks whether the claim still stands
		j.task = j.task.Again()
	}
	switch {
	case errors.Is(err, errBundle):
		return nil, w.reject(ctx, j)
	case err != nil:
		return nil, w.handBack(ctx, j, met, redisPause)
	case p.Unit.Step >= len(j.bundle.Flow().Steps):
		return nil, doorbell.Reject(reasonUndecodable)
	}
	j.step = j.bundle.Flow().Steps[p.Unit.Step]
	claimed, verdict := w.begin(ctx, j)
	if !claimed {
		return nil, verdict
	}
	return j, verdict
}

// handBack lets a unit that this worker will not begin come again after a pause. If it was claimed when its doorbell was taken,
// the claim goes back and a new doorbell is rung; or, if Redis does not answer, the claim ends by itself.
func (w *Worker) handBack(ctx context.Context, j *job, met runstate.Met, pause time.Duration) doorbell.Verdict {
	switch {
	case !met.Claimed():
		return doorbell.Again(pause)
	case pause == 0:
		w.giveBack(ctx, j, runstate.Progress{})
	default:
		_, _ = w.store.Park(ctx, j.task, pause, runstate.Progress{}) // the sweeper rings
	}
	return doorbell.TakeOver(func(s *doorbell.Stint) { s.End(true) })
}

// begin claims the unit; the verdict is why it could not.
func (w *Worker) begin(ctx context.Context, j *job) (claimed bool, verdict doorbell.Verdict) {
	change, grant, err := w.store.Begin(ctx, j.task, w.terms(j, w.suspects.unasked()))
	if err == nil && change.Word == runstate.Suspect {
		return w.beginSuspect(ctx, j, grant.Deliveries)
	}
	return w.begun(ctx, j, change, grant, err)
}

// beginSuspect claims a unit that has been lost with several workers, if it can have the room that it needs.
func (w *Worker) beginSuspect(ctx context.Context, j *job, delivery int) (claimed bool, verdict doorbell.Verdict) {
	leave, ok := w.suspects.enter(delivery)
	if !ok {
		return false, w.refuse(ctx, j)
	}
	change, grant, err := w.store.Begin(ctx, j.task, w.terms(j, delivery))
	if claimed, verdict = w.begun(ctx, j, change, grant, err); !claimed {
		leave()
		return false, verdict
	}
	j.leave = leave
	w.cfg.Logger.Warn("a step is tried once more that was lost with its workers", "run", j.Run, "step", j.step.ID)
	return true, verdict
}

// refuse lets a suspect wait for its place. It goes by way of the outbox, from which it comes ahead of its queue: asynq would
// put it at the end, where all suspects of a long queue would wait for as long as the queue is, and few get a place each time.
func (w *Worker) refuse(ctx context.Context, j *job) doorbell.Verdict {
	entry := runstate.Entry{Ref: j.task.Ref, Generation: j.Generation, Unit: j.Unit, Redrive: j.Redrive}
	if err := w.store.Defer(ctx, entry, w.suspects.pause()); err != nil {
		return doorbell.Again(redisPause)
	}
	return doorbell.Handled()
}

// begun says whether the unit was claimed, and else why not.
func (w *Worker) begun(ctx context.Context, j *job, change runstate.Change, grant runstate.Grant, err error) (claimed bool, verdict doorbell.Verdict) {
	if err != nil {
		return false, doorbell.Again(redisPause)
	}
	switch change.Word {
	case runstate.Claimed:
		j.grant = grant
		return true, doorbell.Verdict{}
	case runstate.Overdue, runstate.Crashed:
		w.changed(ctx, j, change, nil)
		return false, doorbell.Handled()
	case runstate.Suspect: // it has been lost once more since it was asked after
		return false, w.refuse(ctx, j)
	case runstate.Done, runstate.Busy:
		w.cfg.Observer.StepDuplicate(ctx, j.bundle.Flow().Name, j.step.ID)
	default: // gone, stale
	}
	return false, doorbell.Drop()
}

func (w *Worker) terms(j *job, trusted int) runstate.Terms {
	t := wants(j.step)
	t.Lease, t.MaxDeliveries, t.Trusted = w.cfg.Lease, w.cfg.MaxDeliveries, trusted
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

// settle records what came of the work, or gives the unit back.
func (w *Worker) settle(ctx context.Context, j *job, res *result, err error) doorbell.Verdict {
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
		ctx, again := context.WithoutCancel(ctx), &job{payload: j.payload, task: j.task.Again(), bundle: j.bundle, step: j.step}
		change, grant, err := w.store.Begin(ctx, again.task, w.terms(again, w.cfg.MaxDeliveries))
		_, verdict := w.begun(ctx, again, change, grant, err)
		return verdict
	case errors.Is(cause, doorbell.ErrStopping):
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisPause)
		defer cancel()
		progress := j.grant.Progress
		progress.Spent = cut.Spent
		traceEnding(ctx, endedReleased)
		w.giveBack(short, j, progress)
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
	if p.Class == executor.ClassUpstream5xx {
		progress.Down += wait
	}
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
