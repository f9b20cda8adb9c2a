package telemetry

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// The ids are on the way of every step: they cost no allocation, whether there is a span or not.
func TestTheIDsOfALineAllocateNothing(t *testing.T) {
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	for name, ctx := range map[string]context.Context{
		"traced": trace.ContextWithSpanContext(t.Context(), span), "not traced": t.Context(),
	} {
		var room [256]byte
		if n := testing.AllocsPerRun(1000, func() { _ = appendTraced(ctx, room[:0]) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
