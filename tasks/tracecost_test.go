package tasks

import (
	"context"
	"testing"

	"fourfold/flow"
	"fourfold/tasks/internal/runstate"
)

// untraced is what tracing adds to a step when it is off: once before the work, once after it, and at each ring.
func untraced(ctx context.Context, w *Worker, j *job, r *result) {
	ctx, span := w.traceStep(ctx, j)
	traceChange(ctx, j, runstate.Change{Word: runstate.Settled}, r)
	_ = traceHeaders(ctx, "")
	span.End()
}

func TestTracesThatAreOffCostAStepNothing(t *testing.T) {
	w, j, r := &Worker{}, &job{bundle: &flow.Bundle{}}, &result{}
	if n := testing.AllocsPerRun(1000, func() { untraced(t.Context(), w, j, r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTracesOff(b *testing.B) {
	w, j, r, ctx := &Worker{}, &job{bundle: &flow.Bundle{}}, &result{}, b.Context()
	b.ReportAllocs()
	for b.Loop() {
		untraced(ctx, w, j, r)
	}
}

func TestOnlyATraceparentIsASpan(t *testing.T) {
	for text, want := range map[string]bool{
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": true,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00": true,
		"": false,
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01": false,
		"00-00000000000000000000000000000000-b7ad6b7169203331-01": false,
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": false,
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01": false,
		"customer's words": false,
	} {
		if got := remoteSpan(text); got.IsValid() != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
