package tasks

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"fourfold/tasks/internal/runstate"
)

// fault strikes at the n-th Redis command: before it is sent, or after it was carried out and before its answer is seen.
type fault struct {
	at     int
	after  bool
	strike func() // blocks
	death  chan struct{}

	mu   sync.Mutex
	seen int
	hit  string // the command that was struck
	kept bool   // the command had its effect before the strike
}

// die tells that the process is gone, and never returns.
func (f *fault) die() {
	f.death <- struct{}{}
	select {}
}

func (f *fault) around(name string, settled func() bool, do func() error) error {
	f.mu.Lock()
	f.seen++
	mine := f.seen == f.at
	if mine {
		f.hit = name
	}
	f.mu.Unlock()
	if mine && !f.after {
		f.strike()
	}
	err := do()
	if mine && f.after {
		f.kept = settled()
		f.strike()
	}
	return err
}

func (f *fault) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *fault) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return f.around(scriptName(cmd), func() bool { return runstate.Changed(cmd) }, func() error { return next(ctx, cmd) })
	}
}

func (f *fault) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return f.around("pipeline", func() bool { return true }, func() error { return next(ctx, cmds) })
	}
}

// scriptName tells the script of complete from other commands, since only before it may an answer be lost.
func scriptName(cmd redis.Cmder) string {
	if runstate.IsComplete(cmd) {
		return "complete"
	}
	return cmd.Name()
}
