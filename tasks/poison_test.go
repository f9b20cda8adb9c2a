package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/internal/redistest"
	"fourfold/tasks"
)

// poisonedEnv holds the address of Redis for a process that is to be a worker with a step that ends it.
const poisonedEnv = "FOURFOLD_TEST_POISONED_WORKER"

const (
	poisonedExit   = 3
	mostDeliveries = 2
)

// workPoisoned is a worker process whose handler "poison" ends it: a crash that nothing in the process can contain.
func workPoisoned(addr string) int {
	fine := func(context.Context, flow.Inputs) (executor.Reply[json.RawMessage], error) {
		return executor.Reply[json.RawMessage]{Value: json.RawMessage("1")}, nil
	}
	worker, err := tasks.NewWorker(tasks.WorkerConfig{
		Redis: redis.NewClient(&redis.Options{Addr: addr}), Queues: map[string]int{"default": 1}, Lease: 2 * time.Second, MaxDeliveries: mostDeliveries,
		Handlers: map[string]tasks.Handler{
			"fine": fine,
			"slow": func(ctx context.Context, in flow.Inputs) (executor.Reply[json.RawMessage], error) {
				time.Sleep(300 * time.Millisecond)
				return fine(ctx, in)
			},
			"poison": func(context.Context, flow.Inputs) (executor.Reply[json.RawMessage], error) {
				time.Sleep(100 * time.Millisecond) // so that it dies beside what came with it
				os.Exit(poisonedExit)
				return executor.Reply[json.RawMessage]{}, nil
			},
		},
	})
	if err == nil {
		go func() { // whoever started it holds the other end, and is gone when that is closed
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		err = worker.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// superviseWorkers starts a worker process, and the next when it has died, as an orchestrator does. stop, or the end of the
// test, ends the last one; stop returns how many the poison ended.
func superviseWorkers(t *testing.T, addr string) (stop func() (deaths int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int)
	go func() {
		deaths := 0
		for ctx.Err() == nil {
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), poisonedEnv+"="+addr)
			if _, err := cmd.StdinPipe(); err != nil { // nothing is written: its end tells that this process is gone
				t.Error(err)
				break
			}
			out, err := cmd.CombinedOutput()
			exit, _ := errors.AsType[*exec.ExitError](err)
			switch {
			case ctx.Err() != nil:
			case exit != nil && exit.ExitCode() == poisonedExit:
				deaths++
			default:
				t.Errorf("a worker ended by itself: %v\n%s", err, out)
				cancel()
			}
		}
		ended <- deaths
	}()
	stop = sync.OnceValue(func() int { cancel(); return <-ended })
	t.Cleanup(func() { stop() })
	return stop
}

// A step that ends its worker's process is given up after so many deliveries; whoever shares the fleet with it goes on, and so
// do steps that were in flight beside it each time: what their workers died of was not them.
func TestAStepThatKillsItsWorkersIsGivenUp(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := newFleet(t, server.Client(t))
	handled := func(id, handler, more string) string {
		return fmt.Sprintf("  - {id: %s, handler: %s, budget: {attempts: 1, per_attempt: 60s, total: 60s}%s}\n", id, handler, more)
	}
	poisoned := f.submit(bundle(t, "flow: poisoned\nsteps:\n"+handled("before", "fine", "")+
		handled("beside", "slow", ", needs: [before]")+handled("bad", "poison", ", needs: [before]")+handled("also", "slow", ", needs: [before]")+
		handled("after", "fine", ", needs: [bad]")), `1`)
	stop := superviseWorkers(t, server.Addr)
	s := f.wait(poisoned)
	want := tasks.Marker{Outcome: executor.OutcomeFailed, Step: executor.MustStepID("bad"), Cause: tasks.CauseCrash}
	if s.Marker != want || s.Counts != (tasks.Counts{OK: 3, Failed: 1, Skipped: 1}) {
		t.Errorf("marker %+v, counts %+v", s.Marker, s.Counts)
	}
	good := bundle(t, "flow: good\nsteps:\n"+handled("one", "fine", "")+handled("two", "fine", ", needs: [one]"))
	for i := range 10 {
		if s := f.wait(f.submit(good, fmt.Sprint(i))); s.Outcome != executor.OutcomeOK {
			t.Errorf("another run: %v by %v", s.Outcome, s.Marker.Cause)
		}
	}
	f.quiet()
	if deaths := stop(); deaths != mostDeliveries {
		t.Errorf("%d workers died of it; want %d", deaths, mostDeliveries)
	}
}
