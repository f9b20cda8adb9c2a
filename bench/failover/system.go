package main

import (
	"context"
	"encoding/json"
	"time"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
	"fourfold/provider/openai"
)

// system is one way of configuring Fourfold.
type system struct {
	name string
	when func(provider.Error) bool // when a chain moves on; nil: the decision table
}

// The configuration, in the benchmark's seconds: two failures in a row open a breaker for ten seconds; ten seconds of silence,
// before the first token or between two, are a failure; four attempts.
const (
	failures   = 2
	cooldown   = 10
	silence    = 10
	perAttempt = 30
	total      = 100
	attempts   = 4
)

// stack is one configured system on two servers.
type stack struct {
	chain *provider.Chain
	clock clock
}

func (s system) stack(primaryURL, fallbackURL string, c clock) (*stack, error) {
	guarded := func(name, url string) (provider.Client, error) {
		client, err := openai.New(openai.Config{
			Name: provider.MustName(name), Model: name, BaseURL: url + "/v1", Capabilities: provider.CapabilitiesOf(provider.Streaming),
		})
		return provider.Guard(client, provider.GuardConfig{
			Stream:   true,
			Timeouts: provider.Timeouts{FirstToken: c.of(silence), Idle: c.of(silence)},
			Breaker:  provider.NewBreaker(provider.BreakerConfig{Failures: failures, Cooldown: c.of(cooldown)}),
		}), err
	}
	primary, err := guarded("primary", primaryURL)
	if err != nil {
		return nil, err
	}
	fallback, err := guarded("fallback", fallbackURL)
	if err != nil {
		return nil, err
	}
	return &stack{provider.NewChain(primary, fallback).With(provider.FallbackWhen(s.when)), c}, nil
}

// answer is what a caller gets.
type answer struct {
	envelope executor.Envelope
	text     string
	took     time.Duration
	err      error // no outcome at all
}

// ask runs one step.
func (s *stack) ask(ctx context.Context) answer {
	started := time.Now()
	result, err := executor.Run(ctx, executor.Step[string]{
		ID: executor.MustStepID("failover"),
		Budget: executor.Budget{
			// Waits between attempts are not scaled: providers count requests in real seconds.
			Attempts: attempts, PerAttempt: s.clock.of(perAttempt) + 2*time.Second, Total: s.clock.of(total) + 10*time.Second,
		},
		Attempt: func(ctx context.Context) (executor.Reply[string], error) {
			r, err := s.chain.Complete(ctx, provider.Request{Prompt: content.New(question)})
			return executor.Reply[string]{Value: r.Text.Reveal(), Model: r.Model, Usage: r.Usage}, err
		},
	})
	a := answer{took: time.Since(started), err: err}
	if err == nil {
		a.envelope = result.Envelope()
		a.text = textOf(result)
	}
	return a
}

func textOf(r executor.Result[string]) string {
	if u, ok := r.(executor.Usable[string]); ok {
		return u.Value()
	}
	return ""
}

// wantsModel reads which model a request asks for.
func wantsModel(body []byte) (model, lastRole string) {
	var r struct {
		Model    string `json:"model"`
		Messages []struct {
			Role string `json:"role"`
		} `json:"messages"`
	}
	if json.Unmarshal(body, &r) != nil || len(r.Messages) == 0 {
		return "", ""
	}
	return r.Model, r.Messages[len(r.Messages)-1].Role
}
