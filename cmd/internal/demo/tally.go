package demo

import (
	"context"
	"maps"
	"slices"
	"sync"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
)

// tally counts what the worker tells its observers.
type tally struct {
	telemetry.Observer // the rest is not counted

	mu        sync.Mutex
	calls     map[callKey]int
	fallbacks int
	steps     map[executor.Outcome]int
	usage     executor.Usage
}

type callKey struct {
	provider string
	kind     provider.Kind
}

func newTally() *tally {
	return &tally{Observer: telemetry.Discard, calls: map[callKey]int{}, steps: map[executor.Outcome]int{}}
}

// CallFinished counts a call by provider and error kind.
func (t *tally) CallFinished(_ context.Context, c provider.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[callKey{c.Provider.String(), c.Kind}]++
}

// FellBack counts a move to the next provider.
func (t *tally) FellBack(context.Context, provider.Name, provider.Name, provider.Kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fallbacks++
}

// StepFinished counts a step by outcome, and its tokens.
func (t *tally) StepFinished(_ context.Context, s telemetry.StepFinished) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps[s.Envelope.Outcome]++
	t.usage = t.usage.Add(s.Envelope.Usage)
}

// callCount is one line of the calls that were made.
type callCount struct {
	Provider  string `json:"provider"`
	ErrorKind string `json:"error_kind"`
	Calls     int    `json:"calls"`
}

// counts are the calls by provider and error kind, sorted.
func (t *tally) counts() []callCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(t.calls), func(a, b callKey) int {
		if a.provider != b.provider {
			if a.provider > b.provider { // primary before backup
				return -1
			}
			return 1
		}
		return int(a.kind) - int(b.kind)
	})
	counts := []callCount{}
	for _, k := range keys {
		counts = append(counts, callCount{k.provider, k.kind.String(), t.calls[k]})
	}
	return counts
}
