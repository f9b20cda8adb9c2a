package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
	"fourfold/telemetry/telemetrytest"
)

// Whatever text comes where a name should be: each metric stays one line that is read strictly, each log line one JSON object.
func FuzzAnyTextKeepsLinesWhole(f *testing.F) {
	f.Add("document-intake", "default", "timeout", 1)
	f.Add("a,b|c\n#d:e", `"},{"level":"error`, "\x00\xff", -1)
	f.Add(strings.Repeat("x", 300), "", "other", 1<<40)
	f.Add("-leading", "quote\"", "back\\slash", 0)
	f.Fuzz(func(t *testing.T, flow, queue, cause string, n int) {
		var metrics buffer
		log := logged(t, "debug", func(l *telemetry.Logger) {
			s := telemetry.NewToWriter(&metrics)
			s.LogTo(l)
			s.StepFinished(t.Context(), telemetry.StepFinished{
				Run: flow, Flow: flow, Queue: queue, Cause: cause, QueueWait: time.Duration(n),
				Envelope: executor.Envelope{Step: classify, Outcome: executor.OutcomeFailed, Attempts: n, Latency: time.Duration(n), Usage: executor.Tokens(int64(n), 0)},
			})
			s.RunFinished(t.Context(), telemetry.RunFinished{Run: flow, Flow: flow, Queue: queue, Cause: cause, Outcome: executor.OutcomeOK})
			s.CallFinished(t.Context(), provider.Call{Kind: provider.KindAuth, Status: n, Scope: provider.Scope{Run: flow, Flow: queue, Attempt: n}})
			s.StepDuplicate(t.Context(), flow, classify)
			s.QueueSizes(telemetry.QueueSizes{Queue: queue, Pending: int64(n)})
			s.Swept(queue, cause, n)
			s.Close()
			l.Info("message", flow, queue, cause, n)
		})
		for line := range strings.Lines(metrics.String()) {
			if _, err := telemetrytest.ParseLine(strings.TrimSuffix(line, "\n")); err != nil {
				t.Error(err)
			}
		}
		lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
		for _, line := range lines {
			fields(t, line)
		}
		want := 4
		if n != 0 {
			want = 5 // the sweeper's
		}
		if len(lines) != want {
			t.Errorf("%d log lines, want %d:\n%s", len(lines), want, log)
		}
	})
}
