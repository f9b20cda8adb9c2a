package tasks

import (
	"context"
	"sync"

	"fourfold/executor"
	"fourfold/telemetry"
)

// strays says whose the attempts are that the executor stopped waiting for and that still run.
type strays struct {
	mu    sync.Mutex
	count map[strayKey]int64
}

type strayKey struct {
	flow string
	step executor.StepID
}

func newStrays() *strays { return &strays{count: map[strayKey]int64{}} }

// watch counts the attempt from the end of its context until done is called.
func (s *strays) watch(ctx context.Context, flow string, step executor.StepID) (done func()) {
	key := strayKey{flow, step}
	stop := context.AfterFunc(ctx, func() { s.add(key, 1) })
	return func() {
		if !stop() { // the context has ended: the attempt is counted, or is about to be
			s.add(key, -1)
		}
	}
}

func (s *strays) add(key strayKey, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[key] += n
	if s.count[key] == 0 {
		delete(s.count, key)
	}
}

// list returns the steps that have strays; it is never nil, since that would mean that nothing is known.
func (s *strays) list() []telemetry.StepStrays {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]telemetry.StepStrays, 0, len(s.count))
	for key, n := range s.count {
		if n > 0 { // below: an attempt ended between its context's end and our being told
			out = append(out, telemetry.StepStrays{Flow: key.flow, Step: key.step, Strays: n})
		}
	}
	return out
}
