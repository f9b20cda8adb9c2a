package telemetry_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
)

// Whatever text reaches an event although its type cannot keep it out: it is in no metric and on no line.
func TestContentInAnyFieldOfAnyEventIsInNoMetricAndOnNoLine(t *testing.T) {
	var metrics, log buffer
	logger, err := telemetry.NewLogger(&log, "debug", "json")
	if err != nil {
		t.Fatal(err)
	}
	s := telemetry.NewToWriter(&metrics)
	s.LogTo(logger)
	ctx := context.WithValue(t.Context(), secret("key"), canary)
	s.StepFinished(ctx, telemetry.StepFinished{
		Run: canary, Flow: canary, Queue: canary, Cause: canary,
		Envelope: executor.Envelope{Step: classify, Outcome: executor.OutcomeFailed, Model: executor.ModelVersionOf(canary)},
		Tokens:   []telemetry.ProviderTokens{{Model: executor.ModelVersionOf(canary), Usage: executor.Tokens(1, 2)}},
	})
	s.RunFinished(ctx, telemetry.RunFinished{Run: canary, Flow: canary, Queue: canary, Cause: canary, Outcome: executor.OutcomeFailed})
	s.CallFinished(ctx, provider.Call{Kind: provider.KindAuth, Model: executor.ModelVersionOf(canary), Scope: provider.Scope{Run: canary, Flow: canary}})
	s.FellBack(ctx, provider.Name{}, provider.Name{}, provider.Kind(200))
	s.BreakerChanged(provider.Name{}, executor.ModelVersionOf(canary), true)
	s.StepDuplicate(ctx, canary, classify)
	s.StepParked(ctx, canary, classify, time.Second)
	s.QueueSizes(telemetry.QueueSizes{Queue: canary})
	s.Fleet(telemetry.Fleet{StraysByStep: []telemetry.StepStrays{{Flow: canary, Step: classify, Strays: 1}}})
	s.Swept(canary, canary, 1)
	s.Drained(0, 0, 1)
	s.Close()
	logger.Close()
	for where, text := range map[string]string{"metrics": metrics.String(), "log": log.String()} {
		if strings.Contains(text, "CANARY") || strings.Contains(text, "customer") {
			t.Errorf("content in the %s:\n%s", where, text)
		}
		if len(text) < 500 {
			t.Errorf("the %s were told too little to prove anything:\n%s", where, text)
		}
	}
}
