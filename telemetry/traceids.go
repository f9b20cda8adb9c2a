package telemetry

import (
	"context"
	"encoding/hex"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"
)

// Names of the fields that join a line to its trace: what OpenTelemetry calls them, in hexadecimal, which Datadog takes
// for its own.
const (
	traceIDField = "trace_id"
	spanIDField  = "span_id"
)

// traced adds the ids of the context's span to a line; without a span the line stays as it is.
func traced(ctx context.Context, e *zerolog.Event) *zerolog.Event {
	if sc := trace.SpanContextFromContext(ctx); e != nil && sc.IsValid() {
		e = e.Str(traceIDField, sc.TraceID().String()).Str(spanIDField, sc.SpanID().String())
	}
	return e
}

// appendTraced is traced for lines that are spelt out.
func appendTraced(ctx context.Context, b []byte) []byte {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return b
	}
	traceID, spanID := sc.TraceID(), sc.SpanID()
	b = append(b, `,"`+traceIDField+`":"`...)
	b = hex.AppendEncode(b, traceID[:])
	b = append(b, `","`+spanIDField+`":"`...)
	b = hex.AppendEncode(b, spanID[:])
	return append(b, '"')
}
