package tasks

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"fourfold/executor"
	"fourfold/tasks/internal/doorbell"
)

// Nobody waits for a step in flight: its attempt has a goroutine, and whoever ends it, by an answer, a timer or the context's
// end, goes on from there with the step, the record, and the next step. So ten thousand calls are ten thousand goroutines.

// stay is the time that a unit is in this worker's hands.
type stay struct {
	claim
	w     *Worker
	stint *doorbell.Stint
	job   *job
	ctx   context.Context //nolint:containedctx // of the work, which nobody waits for
	end   context.CancelFunc
	span  trace.Span
	gone  bool // the worker has let go of it
}

// workOn works on a prepared unit, and on those that ending one hands to this worker, until there is something to wait for;
// resume goes on then.
func (w *Worker) workOn(s *doorbell.Stint, j *job) {
	for j != nil {
		st := w.enter(s, j)
		res, waiting, err := st.start()
		if waiting {
			return
		}
		j = st.leave(res, err)
	}
}

// start is that of the unit's work.
func (st *stay) start() (res *result, waiting bool, err error) {
	st.safely(func() { res, waiting, err = st.job.work.start(st.ctx, st.resume) })
	return res, waiting, err
}

// resume is told what came of the attempts.
func (st *stay) resume(made executor.Result[value], err error) {
	st.stint.Do(func() {
		widen(st.job.Unit.Step)
		var res *result
		st.safely(func() { res, err = st.job.work.notes.end(made, err) })
		if next := st.leave(res, err); next != nil {
			st.w.workOn(st.stint, next)
		}
	})
}

// enter takes a claimed unit into hand. Only a stopping worker, a lost claim or the run's deadline end its context.
func (w *Worker) enter(s *doorbell.Stint, j *job) *stay {
	st := &stay{claim: claim{task: j.task}, w: w, stint: s, job: j}
	st.safely(func() {
		st.ctx, st.cut = s.Context()
		if j.grant.Left > 0 {
			st.ctx, st.end = context.WithTimeoutCause(st.ctx, j.grant.Left, errDeadline)
		}
		st.ctx, st.span = w.traceStep(st.ctx, j)
		w.claims.hold(&st.claim)
	})
	return st
}

// leave settles the unit, and returns the one to go on with, prepared; nil: the stint is over.
func (st *stay) leave(res *result, err error) *job {
	verdict := st.settle(res, err)
	next := st.job.next
	if next == nil {
		st.stint.End(verdict.GivesBack())
		return nil
	}
	next.work = st.w.prepare(next)
	return next
}

// settle lets go of the unit, however it is left.
func (st *stay) settle(res *result, err error) doorbell.Verdict {
	defer st.letGo()
	return st.w.settle(st.ctx, st.job, res, err)
}

// safely does something with the unit that is not the last. If it panics the worker lets go of the unit: a claim that is
// extended for nobody would keep the step from all others.
func (st *stay) safely(do func()) { safely(do, st.letGo) }

// safely calls do, and if that panics letGo too.
func safely(do, letGo func()) {
	done := false
	defer func() {
		if !done {
			letGo()
		}
	}()
	do()
	done = true
}

// letGo ends all that the worker keeps for the unit, once. If the unit is not settled its claim ends, and the sweeper rings.
func (st *stay) letGo() {
	if st.gone {
		return
	}
	st.gone = true
	st.w.claims.drop(&st.claim)
	st.job.letGo()
	if st.end != nil {
		st.end()
	}
	if st.cut != nil {
		st.cut(nil)
	}
	if st.span != nil {
		st.span.End()
	}
}

// widen has the goroutine's stack grow now. Settling a unit needs more than its attempts did, and when a stack grows deep in
// calls, each of their frames has to be moved: that took a worker a fourteenth of its time.
//
//go:noinline
func widen(i int) byte {
	var frame [3 << 10]byte
	return frame[i&1023]
}
