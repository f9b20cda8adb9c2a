package runstate

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/internal/redistest"
)

// dam lets no script through to Redis while it is shut, and counts them.
type dam struct {
	mu    sync.Mutex
	opens chan struct{} // closed when it does; nil: it is open
	calls int
}

func (d *dam) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opens, d.calls = make(chan struct{}), 0
}

// open says how many scripts there were since it was shut, those included that come while others go on.
func (d *dam) open(goOn func()) int {
	d.mu.Lock()
	close(d.opens)
	d.opens = nil
	d.mu.Unlock()
	goOn()
	return d.counted()
}

func (d *dam) counted() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

func (d *dam) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d *dam) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d *dam) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			d.mu.Lock()
			opens := d.opens
			d.calls++
			d.mu.Unlock()
			if opens != nil {
				<-opens
			}
		}
		return next(ctx, cmd)
	}
}

// waits is how much is wanted that no call is under way for.
func (g *gather[K]) waits() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.kinds {
		n += len(w.waiting)
	}
	return n
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("still not:", what)
		}
	}
}

// What many goroutines ask of a store while Redis is at work is done by few calls: the first two take what there is, and the
// others share the next.
func TestManyCallersShareCalls(t *testing.T) {
	const callers, few = atATime + mostAtOnce + 4, atATime + 2
	d := &dam{}
	rdb := redistest.Start(t).Client(t)
	rdb.AddHook(d)
	n := newNursery(t, rdb, true)
	n.keep(t)
	if err := n.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.together(n.run("first", "")) // so that Redis knows the script

	meanwhile := func(waits func() int, do func(i int)) (calls int) {
		d.shut()
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() { do(i) })
			if i < atATime {
				until(t, "a call is under way for each of the first", func() bool { return d.counted() == i+1 })
			}
		}
		until(t, "the others wait", func() bool { return waits() == callers-atATime })
		return d.open(all.Wait)
	}
	id := func(i int) string { return fmt.Sprintf("run%02d", i) }
	made := meanwhile(n.births.waits, func(i int) {
		if c, err := n.Create(t.Context(), n.run(id(i), ""), n.postsOf(id(i))); err != nil || c.Word != Created {
			t.Error(id(i), c.Word, err)
		}
	})
	if made != few {
		t.Errorf("%d runs were made by %d calls, want %d", callers, made, few)
	}
	for i := range callers {
		n.hold(t, id(i), 0)
	}
	ended := meanwhile(n.endings.waits, func(i int) {
		task := Task{Ref: Ref{"q", id(i)}, Generation: 1, Unit: Step(0), Token: "worker"}
		if c, err := n.Complete(t.Context(), task, Ending{Outcome: executor.OutcomeOK, Value: []byte("1")}); err != nil || c.Word != Settled {
			t.Error(id(i), c.Word, err)
		}
	})
	if ended != few {
		t.Errorf("%d steps were ended by %d calls, want %d", callers, ended, few)
	}
}
