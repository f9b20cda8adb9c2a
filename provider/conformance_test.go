package provider_test

import (
	"context"
	"iter"
	"testing"

	"fourfold/content"
	"fourfold/provider"
	"fourfold/provider/providertest"
)

// named completes what a fake says, so that it is a whole answer.
func named(f *fake) *fake {
	do := f.do
	f.do = func(ctx context.Context, n int) (provider.Response, error) {
		if ctx.Err() != nil {
			s := provider.FromError(ctx, ctx.Err())
			s.Provider = f.name
			return provider.Response{}, provider.Judge(s)
		}
		answer, err := do(ctx, n)
		answer.Provider, answer.ModelProvider = f.name, provider.ModelProviderSimulated
		return answer, err
	}
	return f
}

func fixture(t *testing.T, wrap func(provider.Client) provider.Client) providertest.Fixture {
	t.Helper()
	failing := down
	failing.Message, failing.Cause = providertest.CanaryText, wordy(providertest.CanaryText)
	breaks := hangs(t, false)
	breaks.parts = func(context.Context, int) iter.Seq2[provider.Chunk, error] {
		return func(yield func(provider.Chunk, error) bool) {
			_ = yield(provider.Chunk{Text: content.New("x")}, nil) && yield(provider.Chunk{}, provider.Judge(down))
		}
	}
	return providertest.Fixture{
		Answers: wrap(named(answers(t, "primary"))),
		Hangs:   wrap(hangs(t, false)),
		Breaks:  wrap(breaks),
		Fails:   map[provider.Kind]provider.Client{provider.KindProviderError: wrap(fails(t, "primary", failing))},
	}
}

func TestGuardsAndChainsConform(t *testing.T) {
	for name, wrap := range map[string]func(provider.Client) provider.Client{
		"guard": func(c provider.Client) provider.Client { return provider.Guard(c, provider.GuardConfig{}) },
		"guard that streams": func(c provider.Client) provider.Client {
			return provider.Guard(c, provider.GuardConfig{Stream: true, Breaker: provider.NewBreaker(provider.BreakerConfig{Failures: 1000})})
		},
		"chain": func(c provider.Client) provider.Client {
			return provider.NewChain(provider.Guard(c, provider.GuardConfig{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			providertest.Run(t, func(t *testing.T) providertest.Fixture { return fixture(t, wrap) })
		})
	}
}

func TestTheExampleConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Fixture {
		f := fixture(t, func(c provider.Client) provider.Client { return c })
		f.Answers = shout{primary}
		f.Breaks = nil
		return f
	})
}
