package tasks

import (
	"context"
	"errors"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks/internal/runstate"
	"fourfold/telemetry"
)

// changed relays what a change made runnable, and tells the observer what it ended. r is the unit's own result; nil when
// the change came without one.
func (w *Worker) changed(ctx context.Context, j *job, c runstate.Change, r *result) {
	if err := w.relay.change(ctx, j.Run, j.SHA, c); err != nil {
		w.cfg.Logger.Warn("follow-ons wait for the sweeper", "run", j.Run, "steps", len(c.Ready))
	}
	f := j.bundle.Flow()
	ids := stepIDs(f)
	for _, closed := range c.Closed {
		e := telemetry.StepFinished{
			Run: j.Run.String(), Flow: f.Name, Queue: j.Run.Queue(), Worst: closed.Marker.Outcome, Skipped: closed.Skipped,
			Envelope: executor.Envelope{Step: ids[closed.Step], Outcome: closed.Outcome, FailureClass: closed.Cause.Class()},
			Cause:    otherCause(closed.Cause),
		}
		if closed.Step == j.Unit.Step && r != nil {
			w.fill(&e, j, c, closed, r.ending.End)
		}
		w.cfg.Observer.StepFinished(ctx, e)
	}
	if c.Finished {
		w.finished(ctx, j.Run, f.Name, ids, c)
	}
}

// fill adds what only the worker that ended the step knows.
func (w *Worker) fill(e *telemetry.StepFinished, j *job, c runstate.Change, closed runstate.Closed, end runstate.StepEnd) {
	if len(c.Items) > 0 {
		records := make([]runstate.StepRecord, len(c.Items))
		for i, it := range c.Items {
			records[i] = runstate.StepRecord{Outcome: it.Outcome, End: it.End}
		}
		end = joinEnds(records)
	}
	e.Envelope = envelopeOf(j.step.ID, closed.Outcome, closed.Cause, end, j.SHA)
	e.Provider, e.ErrorKind, e.Reason = end.Provider, end.ErrorKind, end.Reason
	e.QueueWait = j.grant.Waited
}

// otherCause is the cause's name where no failure class says it.
func otherCause(c runstate.Cause) string {
	if c == runstate.CauseNone || c.Class() != executor.ClassNone {
		return ""
	}
	return Cause(c).String()
}

func (w *Worker) finished(ctx context.Context, run RunID, flow string, ids []executor.StepID, c runstate.Change) {
	m := markerOf(c.Marker, ids)
	e := telemetry.RunFinished{Run: run.String(), Flow: flow, Queue: run.Queue(), Outcome: m.Outcome, Step: m.Step, Latency: c.Latency}
	if m.Cause != CauseNone {
		e.Cause = m.Cause.String()
	}
	w.cfg.Observer.RunFinished(ctx, e)
}

// rejected tells of a run of which not even the flow is known.
func (w *Worker) rejected(ctx context.Context, j *job, c runstate.Change) {
	if err := w.relay.change(ctx, j.Run, j.SHA, c); err != nil {
		w.cfg.Logger.Warn("follow-ons wait for the sweeper", "run", j.Run, "steps", len(c.Ready))
	}
	if c.Finished {
		w.finished(ctx, j.Run, "unknown", nil, c)
	}
}

// explain logs what an envelope has no word for: the place of a template or expression that could not be evaluated, and the
// type of what was panicked with. Provider errors are logged with their calls.
func (w *Worker) explain(j *job, err error) {
	if e, ok := errors.AsType[*flow.EvalError](err); ok {
		w.cfg.Logger.Warn("a template or expression could not be evaluated on this input", "run", j.Run, "step", j.step.ID, "key", e.Key, "file", e.File, "line", e.Line, "column", e.Column)
	}
	if e, ok := errors.AsType[*executor.PanicError](err); ok {
		w.cfg.Logger.Error("a panic was contained", "run", j.Run, "step", j.step.ID, "type", e.Type)
	}
}

func (w *Worker) explained(j *job) func(error) { return func(err error) { w.explain(j, err) } }

// elsewhereError keeps a step for a worker that has what it names: its handler, or a chain that can do what it requires.
type elsewhereError struct{ parked *executor.Parked }

func (*elsewhereError) Error() string { return "tasks: this worker has not got what the step names" }

func (w *Worker) elsewhere(j *job) error {
	w.cfg.Logger.Error("this worker has not got what the step names", "run", j.Run, "step", j.step.ID, "chain", j.step.Chain, "handler", j.step.Handler)
	j.grant.Progress.Lacks = runstate.LacksChain
	if j.step.Handler != "" {
		j.grant.Progress.Lacks = runstate.LacksHandler
	}
	return &elsewhereError{&executor.Parked{NotBefore: nowPlus(elsewherePause), Spent: j.grant.Progress.Spent}}
}
