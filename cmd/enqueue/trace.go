package main

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

// continued is ctx within the trace that a W3C traceparent names; ctx itself when it names none. Runs that are submitted with
// it belong to that trace.
func continued(ctx context.Context, traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}
