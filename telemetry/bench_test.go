package telemetry

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/DataDog/datadog-go/v5/statsd"

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

// What the same six metrics cost without us: the client called once for each, with tags made beforehand.
func BenchmarkClientAlone(b *testing.B) {
	client, err := statsd.NewWithWriter(nopCloser{io.Discard}, (&statsdClient{}).options()...)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	step := []string{"flow:document-intake", "step:classify-tables"}
	ended := with(step, "outcome:DEGRADED")
	finished := with(ended, "failure_class:timeout", "worst_outcome:DEGRADED", "queue:default")
	tokens := with(step, "model_provider:openai", "model:gpt-4o-2024-08-06")
	input, output := with(tokens, "token_type:input"), with(tokens, "token_type:output")
	b.ReportAllocs()
	for b.Loop() {
		_ = client.Count("step.finished", 1, finished, 1)
		_ = client.Distribution("step.latency", 60.012, ended, 1)
		_ = client.Distribution("step.attempts", 3, ended, 1)
		_ = client.Distribution("step.queue_wait", 0.012, step, 1)
		_ = client.Count("step.tokens", 812, input, 1)
		_ = client.Count("step.tokens", 64, output, 1)
	}
}
