package tasks

import (
	"context"
	"errors"
	"sync"
	"time"

	"fourfold/flow"
	"fourfold/tasks/internal/runstate"
)

// bundlesKept is how many decoded bundles a worker holds.
const bundlesKept = 128

// errBundle means that a bundle is gone or unreadable: no worker will ever run its runs.
var errBundle = errors.New("tasks: the bundle is gone or unreadable")

// bundles decodes each bundle once. A bundle never changes, since it is named by its SHA.
type bundles struct {
	store *runstate.Store

	mu   sync.Mutex
	held map[flow.SHA]*heldBundle
}

type heldBundle struct {
	load sync.Mutex
	b    *flow.Bundle
	used time.Time
}

func newBundles(store *runstate.Store) *bundles {
	return &bundles{store: store, held: map[flow.SHA]*heldBundle{}}
}

// get returns the bundle, from Redis the first time. Errors: errBundle, those of Redis.
func (bs *bundles) get(ctx context.Context, sha flow.SHA) (*flow.Bundle, error) {
	h := bs.hold(sha)
	h.load.Lock()
	defer h.load.Unlock()
	if h.b != nil {
		return h.b, nil
	}
	data, err := bs.store.GetBundle(ctx, sha.String())
	if errors.Is(err, runstate.ErrNoBundle) {
		return nil, errBundle
	}
	if err != nil {
		return nil, err
	}
	b, err := flow.Decode(data)
	if err != nil || b.SHA() != sha {
		return nil, errBundle
	}
	h.b = b
	return b, nil
}

func (bs *bundles) hold(sha flow.SHA) *heldBundle {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	h := bs.held[sha]
	if h == nil {
		if len(bs.held) >= bundlesKept {
			bs.forgetOldest()
		}
		h = &heldBundle{}
		bs.held[sha] = h
	}
	h.used = time.Now()
	return h
}

func (bs *bundles) forgetOldest() {
	var oldest flow.SHA
	var when time.Time
	for sha, h := range bs.held {
		if when.IsZero() || h.used.Before(when) {
			oldest, when = sha, h.used
		}
	}
	delete(bs.held, oldest)
}
