package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fourfold/provider"
)

func BenchmarkJSONValue(b *testing.B) {
	var items []string
	for i := range 20 {
		items = append(items, fmt.Sprintf(`{"id":"t-%d","kind":"content","confidence":0.9,"reason":"It has a header and \"rows\" of figures."}`, i))
	}
	value := "[" + strings.Join(items, ",") + "]"
	for name, text := range map[string]string{"plain": value, "fence": "```json\n" + value + "\n```", "prose": "Here you are:\n" + value + "\nDone."} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := provider.JSONValue(primary, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkJudge(b *testing.B) {
	b.ReportAllocs()
	body := []byte(`{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`)
	h := http.Header{"Retry-After": {"2"}}
	for b.Loop() {
		if provider.Judge(provider.FromHTTP(429, h, body, time.Time{})).Kind() != provider.KindRateLimit {
			b.Fatal("another kind")
		}
	}
}

// BenchmarkChain is what chain and guard add to a call that costs nothing.
func BenchmarkChain(b *testing.B) {
	answer := &fake{name: primary, do: func(context.Context, int) (provider.Response, error) { return provider.Response{}, nil }}
	guard := provider.Guard(answer, provider.GuardConfig{
		Timeouts: provider.Timeouts{Total: time.Minute, Idle: time.Minute}, Breaker: provider.NewBreaker(provider.BreakerConfig{}),
	})
	chain := provider.NewChain(guard)
	b.Run("Complete", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := chain.Complete(b.Context(), provider.Request{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("a token", func(b *testing.B) {
		b.ReportAllocs()
		tokens := make([]any, b.N)
		for i := range tokens {
			tokens[i] = "token"
		}
		stream := provider.NewChain(provider.Guard(script(tokens...), provider.GuardConfig{Timeouts: provider.Timeouts{Idle: time.Minute}}))
		b.ResetTimer()
		for _, err := range stream.Stream(b.Context(), provider.Request{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
