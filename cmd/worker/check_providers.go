package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
	"fourfold/content"
	"fourfold/provider"
)

// checkProviders says whose keys are there, and who stands in which chain.
func checkProviders(file *config.File, env config.Env) []finding {
	var findings []finding
	for _, name := range slices.Sorted(maps.Keys(file.Providers)) {
		p := file.Providers[name]
		key, err := p.Key(name, env)
		what := fmt.Sprintf("%s: %s", name, p.Kind)
		if p.Model != "" {
			what += ", model " + p.Model
		}
		switch {
		case err != nil:
			findings = append(findings, finding{"provider", bad, cli.Text(err)})
		case key.IsZero():
			findings = append(findings, finding{"provider", good, what + ", without a key"})
		default:
			findings = append(findings, finding{"provider", good, what + ", key present"})
		}
		if !p.Stream && (p.FirstTokenTimeout > 0 || p.IdleTimeout > 0) {
			findings = append(findings, finding{"provider", warning, name + ": first_token_timeout and idle_timeout count only with stream: true"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(file.Chains)) {
		order := file.Chains[name].Providers
		findings = append(findings, finding{"chain", good, name + ": " + strings.Join(order, ", then ")})
		for _, first := range order[:max(len(order)-1, 0)] {
			if file.Providers[first].Timeout == 0 {
				findings = append(findings, finding{"chain", warning, fmt.Sprintf("%s: %s has no timeout: when it hangs, the next is not asked in the same attempt", name, first)})
			}
		}
	}
	return findings
}

// probeAll asks every provider one short question. What it answers does not matter, only that it does.
func probeAll(ctx context.Context, file *config.File, env config.Env) []finding {
	clients, err := file.BuildProviders(config.Surroundings{Env: env})
	if err != nil {
		return nil // checkProviders has said whose key is missing
	}
	var findings []finding
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		findings = append(findings, probe(ctx, name, clients[name]))
	}
	return findings
}

func probe(ctx context.Context, name string, c provider.Client) finding {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	begin := time.Now()
	answer, err := c.Complete(ctx, provider.Request{
		Prompt: content.New("Answer with the word: ready"),
		Params: provider.Params{MaxTokens: new(64)},
	})
	took := time.Since(begin).Round(time.Millisecond)
	if err == nil {
		return finding{"probe", good, fmt.Sprintf("%s answered as %s after %s", name, answer.Model, took)}
	}
	e, ok := provider.AsError(err)
	if !ok {
		return finding{"probe", bad, name + ": no answer"}
	}
	why := e.Kind().String()
	if e.Reason() != provider.ReasonNone {
		why += ", " + e.Reason().String()
	}
	if e.Status() != 0 {
		why += fmt.Sprintf(", status %d", e.Status())
	}
	if e.Kind() == provider.KindOutputValidation {
		return finding{"probe", good, fmt.Sprintf("%s is reached (%s) after %s", name, why, took)}
	}
	return finding{"probe", bad, fmt.Sprintf("%s: %s", name, why)}
}
