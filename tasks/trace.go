package tasks

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks/internal/runstate"
)

// The W3C context of a trace travels in two ways. The run's state keeps that of the submission: it is the parent of all
// steps, however they came to be rung. A doorbell carries that of whoever rang it, which a step links to; a task for
// Submission.OnDone carries it too. Only the traceparent is kept: tracestate and baggage hold other people's texts.

// traceHeader is the header of a task that carries a traceparent.
const traceHeader = "traceparent"

// traceparent is the context's span as W3C writes it: 55 bytes; empty without one.
func traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceHeader]
}

// remoteSpan reads what traceparent wrote; what is no traceparent is no span.
func remoteSpan(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceHeader: traceparent})
	return trace.SpanContextFromContext(ctx)
}

// traceHeaders are those of a doorbell that is rung with ctx, or, where ctx knows of no trace, for a run submitted under
// another; nil when there is neither.
func traceHeaders(ctx context.Context, submitted string) map[string]string {
	own := traceparent(ctx)
	if own == "" {
		own = submitted
	}
	if own == "" {
		return nil
	}
	return map[string]string{traceHeader: own}
}

// Attributes of a step's span.
const (
	attrRun          = attribute.Key("fourfold.run")
	attrFlow         = attribute.Key("fourfold.flow")
	attrStep         = attribute.Key("fourfold.step")
	attrItem         = attribute.Key("fourfold.item") // of a for_each step, from 0
	attrQueue        = attribute.Key("fourfold.queue")
	attrQueueWait    = attribute.Key("fourfold.queue_wait_ms")
	attrGeneration   = attribute.Key("fourfold.generation")
	attrDelivery     = attribute.Key("fourfold.delivery") // from 1
	attrEnding       = attribute.Key("fourfold.ending")   // what became of the delivery: settled, expanded, parked, released, lost …
	attrOutcome      = attribute.Key("fourfold.outcome")
	attrClass        = attribute.Key("fourfold.failure_class")
	attrCause        = attribute.Key("fourfold.cause") // where no failure class says it
	attrWorst        = attribute.Key("fourfold.worst_outcome")
	attrAttempts     = attribute.Key("fourfold.attempts")
	attrModel        = attribute.Key("fourfold.model_version")
	attrProvider     = attribute.Key("fourfold.provider")
	attrErrorKind    = attribute.Key("fourfold.error_kind")
	attrReason       = attribute.Key("fourfold.reason")
	attrInputTokens  = attribute.Key("fourfold.token_usage.input") // over all attempts; the calls have gen_ai.usage.*
	attrOutputTokens = attribute.Key("fourfold.token_usage.output")
)

// traceStep puts the unit's work into its trace: under a span of its own if the worker makes spans, else under that of the
// submission, so that log lines name it all the same. The caller ends the span. Without either it costs nothing.
func (w *Worker) traceStep(ctx context.Context, j *job) (context.Context, trace.Span) {
	submitted := remoteSpan(j.grant.Trace)
	if submitted.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, submitted)
	}
	if w.cfg.Tracer == nil {
		return ctx, trace.SpanFromContext(ctx)
	}
	flow := j.bundle.Flow().Name
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	if rang := remoteSpan(j.rang); rang.IsValid() && rang.SpanID() != submitted.SpanID() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: rang}))
	}
	scoped := provider.WithScope(ctx, provider.Scope{Run: j.Run.String(), Flow: flow, Step: j.step.ID})
	ctx, span := w.cfg.Tracer.Start(scoped, "step "+j.step.ID.String(), options...)
	if span.IsRecording() {
		span.SetAttributes(
			attrRun.String(j.Run.String()), attrFlow.String(flow), attrStep.String(j.step.ID.String()), attrQueue.String(j.Run.Queue()),
			attrQueueWait.Int64(j.grant.Waited.Milliseconds()), attrGeneration.Int(j.Generation), attrDelivery.Int(j.grant.Deliveries),
		)
		if j.Unit.Item != runstate.Whole {
			span.SetAttributes(attrItem.Int(j.Unit.Item))
		}
	}
	return ctx, span
}

// Endings of deliveries that the state has no word for.
const (
	endedReleased = "released" // the worker stops, and the step goes back to the queue
	endedDeadline = "deadline" // of the run
)

// traceEnding notes on the step's span what became of the delivery.
func traceEnding(ctx context.Context, ending string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(attrEnding.String(ending))
	}
}

// traceChange notes what was recorded of the unit. r is nil for a step that was split into items. Only FAILED is an error.
func traceChange(ctx context.Context, j *job, c runstate.Change, r *result) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attrEnding.String(string(c.Word)))
	if r == nil {
		return
	}
	span.SetAttributes(endingAttributes(r.ending)...)
	for _, closed := range c.Closed {
		if closed.Step == j.Unit.Step {
			span.SetAttributes(attrWorst.String(closed.Marker.Outcome.String()))
		}
	}
	if r.ending.Outcome == executor.OutcomeFailed {
		span.SetStatus(codes.Error, Cause(r.ending.Cause).String())
	}
}

func endingAttributes(e runstate.Ending) []attribute.KeyValue {
	as := append(make([]attribute.KeyValue, 0, 12), attrOutcome.String(e.Outcome.String()), attrAttempts.Int(e.End.Attempts))
	text := func(key attribute.Key, value string) {
		if value != "" {
			as = append(as, key.String(value))
		}
	}
	if class := e.Cause.Class(); class != executor.ClassNone {
		text(attrClass, class.String())
	}
	text(attrCause, otherCause(e.Cause))
	text(attrModel, e.End.Model.String())
	text(attrProvider, e.End.Provider.String())
	if e.End.ErrorKind != provider.KindNone {
		text(attrErrorKind, e.End.ErrorKind.String())
	}
	if e.End.Reason != provider.ReasonNone {
		text(attrReason, e.End.Reason.String())
	}
	if e.End.Usage.Known() {
		as = append(as, attrInputTokens.Int64(e.End.Usage.Input()), attrOutputTokens.Int64(e.End.Usage.Output()))
	}
	return as
}
