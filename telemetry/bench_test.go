package telemetry

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"fourfold/executor"
	"fourfold/provider"
)

// aStep is an ordinary step that ended DEGRADED after its attempts, with tokens paid to one provider.
func aStep() StepFinished {
	model := executor.ModelVersionOf("gpt-4o-2024-08-06")
	usage := executor.Tokens(812, 64)
	openai, _ := provider.ParseModelProvider("openai")
	return StepFinished{
		Run: "default.4k2abcdefghijklmnopqrstuvw", Flow: "document-intake", Queue: "default",
		Envelope: executor.Envelope{
			Step: executor.MustStepID("classify-tables"), Outcome: executor.OutcomeDegraded, FailureClass: executor.ClassTimeout,
			Attempts: 3, Latency: 60012 * time.Millisecond, Model: model, Prompt: executor.PromptSHA{0x9f, 0x1c}, Usage: usage,
		},
		Worst: executor.OutcomeDegraded, Provider: provider.MustName("primary"), ModelProvider: openai,
		ErrorKind: provider.KindNetwork, Reason: provider.ReasonTimeout, QueueWait: 12 * time.Millisecond,
		Tokens: []ProviderTokens{{openai, model, usage}},
	}
}

// The cost of a finished step to the worker: six metrics and a log line.
func BenchmarkStepFinished(b *testing.B) {
	agent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer agent.Close()
	for _, c := range []struct {
		name  string
		level string
	}{{"metrics and log", "info"}, {"metrics", "error"}} {
		b.Run(c.name, func(b *testing.B) {
			log, err := NewLogger(io.Discard, c.level, "json")
			if err != nil {
				b.Fatal(err)
			}
			defer log.Close()
			sink, err := New(Config{Statsd: agent.LocalAddr().String(), Log: log})
			if err != nil {
				b.Fatal(err)
			}
			defer sink.Close()
			step, ctx := aStep(), context.Background()
			b.ReportAllocs()
			for b.Loop() {
				sink.StepFinished(ctx, step)
			}
		})
	}
}
