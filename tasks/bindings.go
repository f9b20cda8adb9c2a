package tasks

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"fourfold/content"
	"fourfold/flow"
	"fourfold/tasks/internal/runstate"
)

const (
	// bindingsKept bounds how many inputs are kept, and bindingsBytes how much of them as they came; decoded they take several
	// times that. The one used last is kept however large it is: nobody would gain more by sharing.
	bindingsKept  = 16
	bindingsBytes = 4 << 20
	// bindingsIdle is for how long what nobody uses is kept: about as long as a call may take, of items that come one after the other.
	bindingsIdle = time.Minute
)

// bindings lets the items of a for_each step share what is decoded of their inputs: a thousand items of one document would
// decode it, and hold it, a thousand times. It is content, so what is used no more is let go.
type bindings struct {
	mu     sync.Mutex
	kept   []binding   // the one used last at the end
	bytes  int         // of all inputs kept
	forget *time.Timer // nil: nothing is kept
}

type binding struct {
	bindingKey
	bound *flow.Bound
	bytes int // of the inputs
	used  time.Time
}

// bindingKey names what cannot change: a run's input never does, nor its parents' values within a generation.
type bindingKey struct {
	run              RunID
	generation, step int
}

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
	return b.keep(binding{bindingKey: key, bound: bound, bytes: j.inputBytes()}).ForItem(index, item), nil
}

// inputBytes is the size of what the items of a for_each step share.
func (j *job) inputBytes() int {
	n := len(j.grant.Input)
	for _, v := range j.grant.Values {
		n += len(v)
	}
	return n
}

func (b *bindings) find(key bindingKey) *flow.Bound {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.use(key)
}

// keep keeps a binding, unless somebody was faster, and returns what is kept.
func (b *bindings) keep(one binding) *flow.Bound {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bound := b.use(one.bindingKey); bound != nil {
		return bound
	}
	one.used = time.Now()
	b.kept = append(b.kept, one)
	b.bytes += one.bytes
	for len(b.kept) > bindingsKept || len(b.kept) > 1 && b.bytes > bindingsBytes {
		b.drop()
	}
	if b.forget == nil {
		b.forget = time.AfterFunc(bindingsIdle, b.sweep)
	}
	return one.bound
}

// use returns what is kept under a key; nil: nothing. The caller has the lock, as for drop.
func (b *bindings) use(key bindingKey) *flow.Bound {
	for i, one := range slices.Backward(b.kept) {
		if one.bindingKey == key {
			one.used = time.Now()
			b.kept = append(slices.Delete(b.kept, i, i+1), one)
			return one.bound
		}
	}
	return nil
}

// drop lets go of the one that was not used for the longest time.
func (b *bindings) drop() {
	b.bytes -= b.kept[0].bytes
	b.kept = slices.Delete(b.kept, 0, 1)
}

// sweep lets go of what has not been used for long, and comes again when there will be more.
func (b *bindings) sweep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.kept) > 0 && time.Since(b.kept[0].used) >= bindingsIdle {
		b.drop()
	}
	if len(b.kept) == 0 {
		b.forget = nil
		return
	}
	b.forget.Reset(bindingsIdle - time.Since(b.kept[0].used))
}
