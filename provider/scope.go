package provider

import (
	"context"

	"fourfold/executor"
)

// Scope says for whom a call is made. It travels in the context and holds identifiers only.
type Scope struct {
	Run     string // run id: queue and 26 characters, never content
	Flow    string
	Step    executor.StepID
	Attempt int // from 1
}

type scopeKey struct{}

// WithScope returns a context whose calls are recorded under s.
func WithScope(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeOf returns what WithScope put into ctx; the zero Scope when nothing was.
func ScopeOf(ctx context.Context) Scope {
	s, _ := ctx.Value(scopeKey{}).(Scope)
	return s
}
