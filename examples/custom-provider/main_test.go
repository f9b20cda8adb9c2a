package main

import (
	"context"
	"testing"
	"time"

	"fourfold/content"
	"fourfold/provider"
)

func TestTheExampleAnswersInAChain(t *testing.T) {
	noon := clock{func() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }}
	chain := provider.NewChain(provider.Guard(noon, provider.GuardConfig{}))
	answer, err := chain.Complete(t.Context(), provider.Request{Prompt: content.New("What time is it?")})
	if err != nil || answer.Text.Reveal() != "12:00PM" || answer.Provider.String() != "clock" {
		t.Errorf("%+v, %v", answer, err)
	}
	var streamed string
	for chunk, err := range chain.Stream(t.Context(), provider.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		streamed += chunk.Text.Reveal()
	}
	if streamed != "12:00PM" {
		t.Errorf("streamed %q", streamed)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = chain.Complete(ended, provider.Request{})
	if e, ok := provider.AsError(err); !ok || e.Kind() != provider.KindNetwork || e.Reason() != provider.ReasonAborted {
		t.Errorf("on an ended context: %v", err)
	}
}
