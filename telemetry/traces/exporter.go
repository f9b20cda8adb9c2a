package traces

import (
	"context"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"fourfold/telemetry"
)

// sayEvery is how often a receiver that takes nothing is worth a line.
const sayEvery = 30 * time.Second

// exporter keeps the errors of another one from the SDK, which would print them to standard error: their texts quote
// addresses and the receiver's answers. The log gets a code.
type exporter struct {
	sdk.SpanExporter
	log  telemetry.Leveled
	said atomic.Int64 // when the log was last told, in nanoseconds since 1970
	lost atomic.Int64 // spans that were not sent since then
}

// ExportSpans never fails.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err == nil || e.log == nil {
		return nil
	}
	e.lost.Add(int64(len(spans)))
	last, now := e.said.Load(), time.Now().UnixNano()
	if (last == 0 || now-last >= int64(sayEvery)) && e.said.CompareAndSwap(last, now) {
		e.log.Warn("spans could not be sent", "error", err, "spans", e.lost.Swap(0))
	}
	return nil
}

// MarshalLog shows nothing of the configuration in the SDK's own log.
func (*exporter) MarshalLog() any { return "otlp" }
