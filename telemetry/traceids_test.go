package telemetry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
)

func inSpan(ctx context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0x0a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff}, SpanID: trace.SpanID{0x0b, 1, 2, 3, 4, 5, 6, 0xfe},
	}))
}

// Steps, runs and failed calls are found by their trace, and carry no ids when there is none.
func TestLinesCarryTheIDsOfTheirSpan(t *testing.T) {
	tell := func(ctx context.Context) string {
		return logged(t, "info", func(log *telemetry.Logger) {
			s := newSink(t, "", log)
			s.StepFinished(ctx, degraded())
			s.CallFinished(ctx, provider.Call{Provider: primary, Model: gpt, Kind: provider.KindRateLimit, Status: 429})
			s.RunFinished(ctx, telemetry.RunFinished{Run: aRun, Flow: "f", Queue: "q", Outcome: executor.OutcomeOK})
		})
	}
	lines := strings.Split(strings.TrimSpace(tell(inSpan(t.Context()))), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	for _, line := range lines {
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if got["trace_id"] != "0a0102030405060708090a0b0c0d0eff" || got["span_id"] != "0b010203040506fe" {
			t.Errorf("ids missing in %s", line)
		}
	}
	if without := tell(t.Context()); strings.Contains(without, "trace_id") || strings.Contains(without, "span_id") {
		t.Errorf("ids of no span:\n%s", without)
	}
}
