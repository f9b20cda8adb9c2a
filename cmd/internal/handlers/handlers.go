// Package handlers holds the Go functions that every worker program of this repository serves.
package handlers

import (
	"context"
	"encoding/json"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks"
)

// Stock are the handlers by the names under which flows call them. The map is the caller's.
func Stock() map[string]tasks.Handler {
	return map[string]tasks.Handler{"assemble": Assemble}
}

// Assemble puts what a step's parents brought into one object: {"<step>": value, …}. A parent without a value, because it
// failed and the edge is optional, is absent.
func Assemble(_ context.Context, in flow.Inputs) (executor.Reply[json.RawMessage], error) {
	parts := make(map[string]json.RawMessage, len(in.Steps))
	for id, parent := range in.Steps {
		if !parent.Value.IsZero() {
			parts[id.String()] = parent.Value.Reveal()
		}
	}
	value, err := json.Marshal(parts)
	if err != nil {
		return executor.Reply[json.RawMessage]{}, executor.Failure{Class: executor.ClassParse, Retry: executor.RetryNo, Err: err}
	}
	return executor.Reply[json.RawMessage]{Value: value}, nil
}
