package provider_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

// shout is a provider of one's own: a model that says the prompt in capitals, and streams it as one token.
type shout struct{ name provider.Name }

func (s shout) Name() provider.Name { return s.name }
func (s shout) Capabilities() provider.Capabilities {
	return provider.CapabilitiesOf(provider.Streaming)
}

func (s shout) Complete(ctx context.Context, req provider.Request) (provider.Response, error) {
	prompt := req.Prompt.Reveal()
	signal := provider.FromError(ctx, ctx.Err()) // what to say if the context has ended
	switch {
	case ctx.Err() != nil:
	case prompt == "":
		signal = provider.Signal{Seen: provider.SeenStatus, Status: 400}
	default:
		return provider.Response{
			Text: content.New(strings.ToUpper(prompt)), Model: executor.ModelVersionOf("shout-1"),
			Provider: s.name, ModelProvider: provider.ModelProviderSimulated,
		}, nil
	}
	signal.Provider = s.name
	return provider.Response{}, provider.Judge(signal)
}

func (s shout) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		answer, err := s.Complete(ctx, req)
		if err != nil || yield(provider.Chunk{Text: answer.Text}, nil) {
			yield(provider.Chunk{Done: &answer}, err)
		}
	}
}

// A provider of one's own is four methods. Guard gives it the timeouts, the breaker and the records that every provider has.
func ExampleClient() {
	own := provider.Guard(shout{provider.MustName("own")}, provider.GuardConfig{
		Timeouts: provider.Timeouts{Total: 8 * time.Second},
		Breaker:  provider.NewBreaker(provider.BreakerConfig{}),
	})
	chain := provider.NewChain(own)
	answer, err := chain.Complete(context.Background(), provider.Request{Prompt: content.New("hello")})
	fmt.Println(answer.Provider, answer.Model, answer.Text.Reveal(), err)
	_, err = chain.Complete(context.Background(), provider.Request{})
	fmt.Println(err)
	// Output:
	// own shout-1 HELLO <nil>
	// provider own: invalid_request status 400
}
