package telemetry

import (
	"context"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"fourfold/executor"
	"fourfold/provider"
)

// stepKey is what two finished steps have in common when they add to the same metrics and their log lines differ in
// numbers and run only.
type stepKey struct {
	flow, queue, cause string
	step               executor.StepID
	provider           provider.Name
	modelProvider      provider.ModelProvider
	model              executor.ModelVersion
	prompt             executor.PromptSHA
	outcome, worst     executor.Outcome
	class              executor.FailureClass
	kind               provider.Kind
	reason             provider.Reason
	skipped            bool
}

// The metrics of a stepMeter, as indices.
const (
	stepFinished = 0

	stepLatency   = 0
	stepAttempts  = 1
	stepQueueWait = 2
)

// stepMeter has the metrics of the steps of one key and the beginning of their log lines.
type stepMeter struct {
	meter
	line []byte // nil: the level is not logged
}

func (s *Sink) newStepMeter(k stepKey) *stepMeter {
	flowStep := s.names.flowStep(k.flow, k.step)
	ended := with(flowStep, tag("outcome", k.outcome.String()))
	finished := with(ended,
		tag("failure_class", k.class.String()),
		tag("worst_outcome", k.worst.String()),
		tag("queue", s.names.queue(k.queue)))
	m := &stepMeter{line: s.stepLine(k)}
	m.counts = []counter{{name: "step.finished", tags: finished}}
	m.dists = []samples{
		stepLatency:   {name: "step.latency", tags: ended},
		stepAttempts:  {name: "step.attempts", tags: ended},
		stepQueueWait: {name: "step.queue_wait", tags: flowStep},
	}
	return m
}

// StepFinished counts the step and logs its envelope. It allocates nothing once a step of its kind has been seen.
func (s *Sink) StepFinished(ctx context.Context, f StepFinished) {
	if s.ended() {
		return
	}
	e := &f.Envelope
	key := stepKey{
		flow: f.Flow, queue: f.Queue, cause: f.Cause, step: e.Step,
		provider: f.Provider, modelProvider: f.ModelProvider, model: e.Model, prompt: e.Prompt,
		outcome: e.Outcome, worst: f.Worst, class: e.FailureClass, kind: f.ErrorKind, reason: f.Reason, skipped: f.Skipped,
	}
	m := s.steps.get(key)
	for !m.lock() {
		m = s.steps.get(key)
	}
	m.add(stepFinished, 1)
	if !f.Skipped {
		m.observe(stepLatency, e.Latency.Seconds())
		m.observe(stepAttempts, float64(e.Attempts))
		m.observe(stepQueueWait, f.QueueWait.Seconds())
	}
	m.unlock()
	for i := range f.Tokens {
		t := &f.Tokens[i]
		s.pay(tokenKey{f.Flow, e.Step, t.ModelProvider, t.Model}, t.Usage)
	}
	if m.line != nil {
		s.logStep(ctx, m.line, &f)
	}
}

// stepLevel is the level of a step's line: what did not go as it should is a warning.
func stepLevel(o executor.Outcome) zerolog.Level {
	if o == executor.OutcomeDegraded || o == executor.OutcomeFailed {
		return zerolog.WarnLevel
	}
	return zerolog.InfoLevel
}

// stepLine is the line of a step of key k up to what differs from step to step: a JSON object without its end.
func (s *Sink) stepLine(k stepKey) []byte {
	level := stepLevel(k.outcome)
	if !s.log.enabled(level) {
		return nil
	}
	var line captured
	zero := zerolog.New(&line)
	e := zero.WithLevel(level).Str("flow", ident(k.flow)).Str("queue", ident(k.queue)).Str("step", ident(k.step.String())).
		Stringer("outcome", k.outcome).Stringer("worst_outcome", k.worst)
	optional := func(key, value string) {
		if value != "" && value != None {
			e.Str(key, ident(value))
		}
	}
	optional("failure_class", k.class.String())
	optional("cause", k.cause)
	if k.skipped {
		e.Bool("skipped", true)
	}
	optional("provider", k.provider.String())
	optional("model_provider", k.modelProvider.String())
	optional("error_kind", k.kind.String())
	optional("reason", k.reason.String())
	optional("model_version", k.model.String())
	if k.prompt != (executor.PromptSHA{}) {
		e.Str("prompt_bundle_sha", k.prompt.String())
	}
	e.Msg("step finished")
	return line.open()
}

// logStep writes the line of one step. It is spelt out, and not built by zerolog, because it is on the way of every step:
// all that it appends are numbers and ids that need no quoting.
func (s *Sink) logStep(ctx context.Context, begin []byte, f *StepFinished) {
	e := &f.Envelope
	var room [1024]byte
	b := append(room[:0], begin...)
	b = append(b, `,"run":"`...)
	b = append(b, ident(f.Run)...)
	b = append(b, `","attempts":`...)
	b = strconv.AppendInt(b, int64(e.Attempts), 10)
	b = append(b, `,"latency_ms":`...)
	b = strconv.AppendInt(b, e.Latency.Milliseconds(), 10)
	if e.Usage.Known() {
		b = append(b, `,"token_usage":{"input":`...)
		b = strconv.AppendInt(b, e.Usage.Input(), 10)
		b = append(b, `,"output":`...)
		b = strconv.AppendInt(b, e.Usage.Output(), 10)
		b = append(b, '}')
	}
	if !f.Skipped {
		b = append(b, `,"queue_wait_ms":`...)
		b = strconv.AppendInt(b, f.QueueWait.Milliseconds(), 10)
	}
	b = appendTraced(ctx, b)
	b = append(b, `,"timestamp":"`...)
	b = appendStamp(b, time.Now())
	b = append(b, "\"}\n"...)
	_, _ = s.log.out.Write(b)
}

// captured keeps one line of zerolog's.
type captured struct{ line []byte }

func (c *captured) Write(p []byte) (int, error) {
	c.line = append(c.line, p...)
	return len(p), nil
}

// open returns the line without the end of its object, so that more can be appended.
func (c *captured) open() []byte { return c.line[:len(c.line)-len("}\n")] }
