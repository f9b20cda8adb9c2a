package tasks

import (
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
		out = append(out, telemetry.StepStrays{Flow: key.flow, Step: key.step, Strays: n})
	}
	return out
}
