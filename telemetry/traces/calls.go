package traces

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"fourfold/provider"
	"fourfold/telemetry"
)

// Attributes of a call. The conventions for generative AI are not stable yet, and no module of constants is: the names
// are spelt here, as of the conventions' version 1.41.
const (
	genAIOperation     = attribute.Key("gen_ai.operation.name")
	genAIProvider      = attribute.Key("gen_ai.provider.name")
	genAIRequestModel  = attribute.Key("gen_ai.request.model")
	genAIResponseModel = attribute.Key("gen_ai.response.model")
	genAIInputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	genAIOutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	genAIFirstChunk    = attribute.Key("gen_ai.response.time_to_first_chunk") // seconds
	errorType          = attribute.Key("error.type")
	httpStatus         = attribute.Key("http.response.status_code")

	callRun      = attribute.Key("fourfold.run")
	callFlow     = attribute.Key("fourfold.flow")
	callStep     = attribute.Key("fourfold.step")
	callAttempt  = attribute.Key("fourfold.attempt")
	callProvider = attribute.Key("fourfold.provider") // its name in the configuration
	callReason   = attribute.Key("fourfold.reason")

	fallbackEvent = "fourfold.fallback"
	fallbackFrom  = attribute.Key("fourfold.from")
	fallbackTo    = attribute.Key("fourfold.to")
)

// chat is the operation of every call.
const chat = "chat"

// Observe returns next with a span around each call that it is told of, and an event on the step's span for each fallback.
// The context that next is handed is the call's span. The nil Provider returns next itself.
func (p *Provider) Observe(next telemetry.Observer) telemetry.Observer {
	if p == nil {
		return next
	}
	return &observer{next, p.Tracer()}
}

type observer struct {
	telemetry.Observer
	tracer trace.Tracer
}

// CallFinished makes the span of a call that is over.
func (o *observer) CallFinished(ctx context.Context, c provider.Call) {
	end := time.Now()
	name := chat
	if !c.Requested.IsZero() {
		name += " " + telemetry.Identifier(c.Requested.String())
	}
	ctx, span := o.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(end.Add(-c.Duration)))
	if span.IsRecording() {
		span.SetAttributes(attributesOf(&c)...)
		if c.Kind != provider.KindNone && c.Reason != provider.ReasonAborted {
			span.SetStatus(codes.Error, c.Kind.String())
		}
	}
	o.Observer.CallFinished(ctx, c)
	span.End(trace.WithTimestamp(end))
}

func attributesOf(c *provider.Call) []attribute.KeyValue {
	as := append(make([]attribute.KeyValue, 0, 16), genAIOperation.String(chat))
	text := func(key attribute.Key, value string) {
		if value != "" {
			as = append(as, key.String(telemetry.Identifier(value)))
		}
	}
	text(genAIProvider, c.ModelProvider.String())
	text(genAIRequestModel, c.Requested.String())
	if c.Kind == provider.KindNone || c.Model != c.Requested { // of a call that failed early nobody knows more than was asked
		text(genAIResponseModel, c.Model.String())
	}
	if c.Kind != provider.KindNone {
		text(errorType, c.Kind.String())
	}
	if c.Reason != provider.ReasonNone {
		text(callReason, c.Reason.String())
	}
	if c.Usage.Known() {
		as = append(as, genAIInputTokens.Int64(c.Usage.Input()), genAIOutputTokens.Int64(c.Usage.Output()))
	}
	if c.FirstToken > 0 {
		as = append(as, genAIFirstChunk.Float64(c.FirstToken.Seconds()))
	}
	if c.Status != 0 {
		as = append(as, httpStatus.Int(c.Status))
	}
	text(callProvider, c.Provider.String())
	text(callRun, c.Scope.Run)
	text(callFlow, c.Scope.Flow)
	text(callStep, c.Scope.Step.String())
	if c.Scope.Attempt > 0 {
		as = append(as, callAttempt.Int(c.Scope.Attempt))
	}
	return as
}

// FellBack notes the change on the span of the step.
func (o *observer) FellBack(ctx context.Context, from, to provider.Name, kind provider.Kind) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent(fallbackEvent, trace.WithAttributes(
			fallbackFrom.String(from.String()), fallbackTo.String(to.String()), errorType.String(kind.String()),
		))
	}
	o.Observer.FellBack(ctx, from, to, kind)
}
