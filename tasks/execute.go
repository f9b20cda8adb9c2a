package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/provider"
	"fourfold/tasks/internal/runstate"
)

// Handler is a Go function that serves the steps that name it. It is one attempt: its error is judged by
// executor.Classify, its value must be one JSON value, and fit the step's schema if it has one.
type Handler func(ctx context.Context, in flow.Inputs) (executor.Reply[json.RawMessage], error)

// result is what came of the work on a unit: an ending, or the items that a for_each step splits into.
type result struct {
	ending runstate.Ending
	items  [][]byte
}

// value keeps what steps make from being printed by accident on its way through the executor.
type value = content.Of[json.RawMessage]

// work is a claimed unit that is ready for the executor; without a step there is nothing to ask it, and result or err says
// what came of the unit.
type work struct {
	step   *executor.Prepared[value]
	notes  *notes
	result *result
	err    error
}

// prepare does all that can be done for a unit before its first attempt.
func (w *Worker) prepare(j *job) work {
	bound, err := w.bindings.of(j)
	if err != nil {
		return work{result: w.unevaluated(j, err)}
	}
	if j.step.ForEach != nil && j.Unit.Item == runstate.Whole {
		return work{result: w.split(bound, j)}
	}
	attempt, ready := w.attempt(j, bound)
	if !ready { // another worker of the fleet may know the chain or the handler: a newer one, in a rolling deploy
		return work{err: w.elsewhere(j)}
	}
	n := &notes{strays: w.strays, job: j, attempt: attempt, made: j.grant.Progress.Spent.Attempts}
	step := executor.Step[value]{
		ID: j.step.ID, Attempt: n.try, Budget: j.step.Budget, Spent: j.grant.Progress.Spent, Patience: gatePatience,
		OnFailure: func(_ int, f executor.Failure) {
			n.leaveBehind()
			w.explain(j, f.Err)
		},
	}
	if j.step.Handler == "" {
		step.Prompt = j.SHA
	}
	if j.step.HasAbstain() && j.step.ForEach == nil {
		step.Abstain = executor.AbstainWhen(
			func() bool { return must(w.explained(j), bound.Abstains) },
			func() value { return must(w.explained(j), bound.AbstainTo) })
	}
	if j.step.HasDegrade() {
		step.Degrade = func() value { return must(w.explained(j), bound.DegradeTo) }
	}
	prepared, err := executor.Prepare(step)
	return work{step: prepared, notes: n, err: err}
}

// start begins the work; done is told what comes of it if there is something to wait for. The error, here and there, is
// *executor.Parked, *executor.InterruptedError, *elsewhereError, or says that the step is invalid.
func (u *work) start(ctx context.Context, done func(executor.Result[value], error)) (r *result, waiting bool, err error) {
	if u.result != nil || u.err != nil {
		return u.result, false, u.err
	}
	res, waiting, err := u.step.Start(ctx, done)
	if waiting {
		return nil, true, nil
	}
	r, err = u.notes.end(res, err)
	return r, false, err
}

// must evaluates, and hands an error to the executor, which contains panics where it asks a step's functions: the step is
// then FAILED.
func must[V any](explain func(error), evaluate func() (V, error)) V {
	v, err := evaluate()
	if err != nil {
		explain(err)
		panic(err)
	}
	return v
}

func (j *job) inputs() flow.Inputs {
	in := flow.Inputs{Input: content.New(json.RawMessage(j.grant.Input)), Steps: make(map[executor.StepID]flow.Parent, len(j.step.Needs))}
	for _, need := range j.step.Needs {
		parent := flow.Parent{Outcome: j.grant.Parents[need.Index]}
		if v, ok := j.grant.Values[need.Index]; ok && parent.Outcome != executor.OutcomeFailed {
			parent.Value = content.New(json.RawMessage(v))
		}
		in.Steps[need.Step] = parent
	}
	if j.Unit.Item != runstate.Whole {
		in.Item, in.Index = content.New(json.RawMessage(j.grant.Item)), j.Unit.Item
	}
	return in
}

// attempt is one try of the step; ready is false when this worker has not got what the step names.
func (w *Worker) attempt(j *job, bound *flow.Bound) (attempt executor.Attempt[value], ready bool) {
	if j.step.Handler != "" {
		handler := w.cfg.Handlers[j.step.Handler]
		return j.handled(handler), handler != nil
	}
	chain := w.cfg.Chains[j.step.Chain]
	return j.asked(chain, bound), chain != nil && chain.Check(j.step.Requires) == nil
}

func (j *job) handled(h Handler) executor.Attempt[value] {
	return func(ctx context.Context) (executor.Reply[value], error) {
		reply, err := h(ctx, j.inputs())
		return j.judged(reply, err)
	}
}

// judged is a handler's reply, if it is the step's value.
func (j *job) judged(reply executor.Reply[json.RawMessage], err error) (executor.Reply[value], error) {
	out := executor.Reply[value]{Model: reply.Model, Usage: reply.Usage}
	if err != nil {
		return out, err
	}
	if !json.Valid(reply.Value) {
		return out, executor.Failure{Class: executor.ClassParse, Retry: executor.RetryNo}
	}
	if j.step.Validate(reply.Value) != nil {
		return out, executor.Failure{Class: executor.ClassSchema}
	}
	out.Value = content.New(reply.Value)
	return out, nil
}

// asked is the chain's answer.
func (j *job) asked(chain *provider.Chain, bound *flow.Bound) executor.Attempt[value] {
	prompts := sync.OnceValues(func() (provider.Request, error) {
		system, prompt, err := bound.Prompt()
		return provider.Request{
			System: system, Prompt: prompt, Output: j.step.OutputSchema(), Params: j.step.Params, Requires: j.step.Requires, Step: j.step.ID,
		}, err
	})
	return func(ctx context.Context) (executor.Reply[value], error) {
		req, err := prompts()
		if err != nil {
			return executor.Reply[value]{}, executor.Failure{Class: executor.ClassParse, Retry: executor.RetryNo, Err: err}
		}
		answer, err := chain.Complete(ctx, req)
		reply := executor.Reply[value]{Model: answer.Model, Usage: answer.Usage}
		if after, none := provider.NotAsked(err); none {
			return reply, j.refused(after, err)
		}
		if err != nil {
			return reply, err
		}
		noteAnswer(ctx, answer)
		reply.Value, err = j.read(answer)
		return reply, err
	}
}

// refused is what becomes of a pass in which every breaker refused. Nobody was asked, so it is no attempt: the step waits until
// one opens, if all that an outage has kept it waiting is then within its total. Else a dead provider ends it. err says why
// either way. What the step has waited for a limit does not count here; park bounds the whole.
func (j *job) refused(after time.Duration, err error) error {
	after = max(after, redisPause)
	f := executor.Classify(err)
	if j.grant.Progress.Down+after <= j.step.Budget.Total {
		return errors.Join(&executor.Parked{NotBefore: nowPlus(after), Class: f.Class}, err)
	}
	f.Retry, f.Err = executor.RetryNo, err
	return f
}

// read takes the step's value out of an answer: the text as a JSON string, or the one JSON value that fits the schema.
func (j *job) read(answer provider.Response) (value, error) {
	text := answer.Text.Reveal()
	if j.step.OutputSchema() == nil {
		raw, err := json.Marshal(text)
		return content.New(json.RawMessage(raw)), err
	}
	raw, err := provider.JSONValue(answer.Provider, text)
	if err != nil {
		return value{}, err
	}
	if j.step.Validate(raw) != nil {
		return value{}, provider.SchemaViolation(answer.Provider)
	}
	return content.New(json.RawMessage(raw)), nil
}

// split asks a for_each step for its items. An empty list abstains.
func (w *Worker) split(bound *flow.Bound, j *job) *result {
	if j.step.HasAbstain() {
		on, err := bound.Abstains()
		if err != nil {
			return w.unevaluated(j, err)
		}
		if on {
			to, err := bound.AbstainTo()
			if err != nil {
				return w.unevaluated(j, err)
			}
			return abstained(to.Reveal())
		}
	}
	items, err := bound.Items()
	if err != nil {
		return w.unevaluated(j, err)
	}
	if len(items) == 0 {
		return abstained(json.RawMessage("[]"))
	}
	out := &result{items: make([][]byte, len(items))}
	for i, item := range items {
		out.items[i] = item.Reveal()
	}
	return out
}

// unevaluated ends a unit whose expressions or inputs could not be evaluated.
func (w *Worker) unevaluated(j *job, err error) *result {
	w.explain(j, err)
	return failure(executor.Classify(err).Class, j.grant.Progress.Spent)
}

func abstained(v json.RawMessage) *result {
	return &result{ending: runstate.Ending{Outcome: executor.OutcomeAbstained, Value: v}}
}

// failure ends a unit FAILED without a further attempt.
func failure(class executor.FailureClass, spent executor.Spent) *result {
	return &result{ending: runstate.Ending{
		Outcome: executor.OutcomeFailed, Cause: runstate.Cause(class),
		End: runstate.StepEnd{Attempts: spent.Attempts, Latency: spent.Latency, Usage: spent.Usage},
	}}
}

// unserved ends a unit that names what no worker of the fleet has got.
func unserved(p *executor.Parked) *result {
	r := failure(executor.ClassNone, p.Spent)
	r.ending.Cause = runstate.CauseRejected
	return r
}

// giveUpWaiting ends a unit whose provider may not be called for longer than the step may wait. Where nobody said what is waited
// for, it is a limit.
func (j *job) giveUpWaiting(p *executor.Parked) *result {
	class := p.Class
	if class == executor.ClassNone {
		class = executor.ClassUpstream4xx
	}
	r := failure(class, p.Spent)
	end, last := &r.ending.End, j.work.notes.close()
	end.Prompted = j.step.Handler == ""
	end.Provider, end.ErrorKind, end.Reason = last.provider, last.kind, last.reason
	if !j.step.HasDegrade() {
		return r
	}
	bound, err := j.step.Bind(j.inputs())
	if err != nil {
		return r
	}
	if v, err := bound.DegradeTo(); err == nil {
		r.ending.Outcome, r.ending.Value = executor.OutcomeDegraded, v.Reveal()
	}
	return r
}
