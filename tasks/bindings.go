package tasks

import (
	"encoding/json"
	"slices"
	"sync"

	"fourfold/content"
	"fourfold/flow"
	"fourfold/tasks/internal/runstate"
)

// bindings lets the items of a for_each step share what is decoded of their inputs: a thousand items of one document would
// decode it, and hold it, a thousand times. Only the latest are kept.
type bindings struct {
	mu     sync.Mutex
	latest []binding // the newest last
}

type binding struct {
	bindingKey
	bound *flow.Bound
}

// bindingKey names what cannot change: a run's input never does, nor its parents' values within a generation.
type bindingKey struct {
	run              RunID
	generation, step int
}

const bindingsKept = 16

// of joins a unit's step to its inputs. The error is that of flow.Step.Bind.
func (b *bindings) of(j *job) (*flow.Bound, error) {
	in := j.inputs()
	if j.Unit.Item == runstate.Whole {
		return j.step.Bind(in)
	}
	key := bindingKey{j.Run, j.Generation, j.Unit.Step}
	item, index := in.Item, in.Index
	if bound := b.find(key); bound != nil {
		return bound.ForItem(index, item), nil
	}
	in.Item = content.Of[json.RawMessage]{} // the step as a whole
	bound, err := j.step.Bind(in)
	if err != nil {
		return nil, err
	}
	return b.keep(key, bound).ForItem(index, item), nil
}

func (b *bindings) find(key bindingKey) *flow.Bound {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range slices.Backward(b.latest) {
		if k.bindingKey == key {
			return k.bound
		}
	}
	return nil
}

// keep keeps a binding, unless somebody was faster, and returns what is kept.
func (b *bindings) keep(key bindingKey, bound *flow.Bound) *flow.Bound {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.latest {
		if k.bindingKey == key {
			return k.bound
		}
	}
	if len(b.latest) == bindingsKept {
		b.latest = slices.Delete(b.latest, 0, 1)
	}
	b.latest = append(b.latest, binding{key, bound})
	return bound
}
