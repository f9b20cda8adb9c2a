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

// scoped is a context with a Scope. It is not package context's, which hides that an attempt's context can call functions
// at its end: each context that derives from one that cannot is watched by a goroutine of its own, for as long as a call
// takes.
type scoped struct {
	context.Context //nolint:containedctx // it is a context itself
	scope           Scope
}

// Value returns the Scope, or asks the context beneath.
func (c *scoped) Value(key any) any {
	if key == (scopeKey{}) {
		return c.scope
	}
	return c.Context.Value(key)
}

// AfterFunc is that of the context beneath.
func (c *scoped) AfterFunc(after func()) (stop func() bool) {
	return context.AfterFunc(c.Context, after)
}

// WithScope returns a context whose calls are recorded under s.
func WithScope(ctx context.Context, s Scope) context.Context {
	return &scoped{ctx, s}
}

// ScopeOf returns what WithScope put into ctx; the zero Scope when nothing was.
func ScopeOf(ctx context.Context) Scope {
	s, _ := ctx.Value(scopeKey{}).(Scope)
	return s
}
