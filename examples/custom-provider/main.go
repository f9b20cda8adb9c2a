// Command custom-provider shows a provider of one's own: a type with the four methods of provider.Client, in a chain with
// everybody else's. This one asks nobody and answers with the time. Such a chain goes into tasks.WorkerConfig.Chains, as in
// examples/handler, and its guard then gets a Breaker and the fleet's Gate too (tasks.NewGate).
//
//	go run ./examples/custom-provider
package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"time"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

// clock is the provider. Without Capabilities it is asked by steps that require none.
type clock struct{ now func() time.Time }

// Name is the provider's name in logs, metrics and chains.
func (clock) Name() provider.Name { return provider.MustName("clock") }

// Capabilities is what the provider can do.
func (clock) Capabilities() provider.Capabilities { return provider.CapabilitiesOf(provider.Streaming) }

// Complete answers. A real one would make one HTTP call here and hand what it saw (provider.FromHTTP, provider.FromError) to
// provider.Judge, which knows what every status and code means; providertest.Run holds it against the contract of provider.Client.
func (c clock) Complete(ctx context.Context, _ provider.Request) (provider.Response, error) {
	if ctx.Err() != nil {
		return provider.Response{}, provider.Judge(provider.FromError(ctx, ctx.Err()))
	}
	return provider.Response{
		Text:  content.New(c.now().Format(time.Kitchen)),
		Model: executor.ModelVersionOf("clock-1"),
		Usage: executor.Tokens(0, 1),
	}, nil
}

// Stream shows the whole answer as one piece.
func (c clock) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		answer, err := c.Complete(ctx, req)
		if err != nil {
			yield(provider.Chunk{}, err)
			return
		}
		if yield(provider.Chunk{Text: answer.Text}, nil) {
			yield(provider.Chunk{Done: &answer}, nil)
		}
	}
}

func main() {
	mine := provider.Guard(clock{time.Now}, provider.GuardConfig{Timeouts: provider.Timeouts{Total: time.Second}})
	answer, err := provider.NewChain(mine).Complete(context.Background(), provider.Request{Prompt: content.New("What time is it?")})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s says %s\n", answer.Model, answer.Text.Reveal())
}
