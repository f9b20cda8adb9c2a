package tasks_test

import (
	"context"
	"iter"
	"runtime"
	"testing"
	"time"

	"fourfold/internal/redistest"
	"fourfold/provider"
	"fourfold/tasks"
)

// deriving is a provider whose calls derive contexts as those over HTTP do: with an end of their own, and told of the end of
// the one above.
type deriving struct{ *model }

func (d deriving) Complete(ctx context.Context, req provider.Request) (provider.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, time.Hour)
	defer cancel()
	defer context.AfterFunc(ctx, func() {})()
	return d.model.Complete(ctx, req)
}

func (d deriving) Stream(context.Context, provider.Request) iter.Seq2[provider.Chunk, error] {
	panic("never streamed")
}

// A step in flight is the goroutine of its call, and one more where a guard stands between. Each further one would cost ten thousand calls in flight forty megabytes; a context that hides what is beneath it is enough to start one.
func TestAStepInFlightHoldsFewGoroutines(t *testing.T) { // not in parallel: it counts those of the process
	bare := func(c provider.Client) provider.Client { return c }
	guarded := func(c provider.Client) provider.Client {
		return provider.Guard(c, provider.GuardConfig{Timeouts: provider.Timeouts{Total: time.Hour}})
	}
	t.Run("one", func(t *testing.T) { holdsGoroutines(t, bare, 1) })
	t.Run("two with a guard", func(t *testing.T) { holdsGoroutines(t, guarded, 2) })
}

func holdsGoroutines(t *testing.T, around func(provider.Client) provider.Client, each int) {
	f := newFleet(t, redistest.Start(t).Client(t))
	const crowd = 200
	begun, release := make(chan struct{}, 1+crowd), make(chan struct{})
	m := newModel(func(ctx context.Context, _ string, _ int) (string, error) {
		begun <- struct{}{}
		select {
		case <-release:
			return "7", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	chain := provider.NewChain(around(deriving{m}))
	f.worker(m, func(c *tasks.WorkerConfig) {
		c.Concurrency, c.Lease = 2*crowd, time.Hour
		c.Chains = map[string]*provider.Chain{"default": chain}
	})
	b := bundle(t, endless("flow: one\ndeadline: 1h\nsteps:\n"+step("one", "")))
	runs := []tasks.RunID{f.submit(b, `1`)}
	<-begun
	idle := runtime.NumGoroutine() // with what starts once
	for len(runs) <= crowd {
		runs = append(runs, f.submit(b, `1`))
		<-begun
	}
	most := idle + each*crowd + crowd/2
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > most && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond) // those that took and claimed are about to end
	}
	if got := runtime.NumGoroutine(); got > most {
		t.Errorf("%d steps in flight hold %d goroutines, want %d each", crowd, got-idle, each)
	}
	close(release)
	for _, run := range runs {
		f.wait(run)
	}
}
