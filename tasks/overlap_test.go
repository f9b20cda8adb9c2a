package tasks_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"fourfold/executor"
	"fourfold/tasks"
	"fourfold/telemetry"
)

// duplicates tells of deliveries that found their step done or in other hands.
type duplicates struct {
	telemetry.Observer
	seen chan string
}

func newDuplicates() *duplicates {
	return &duplicates{telemetry.Discard, make(chan string, 64)}
}

func (d *duplicates) StepDuplicate(_ context.Context, _ string, step executor.StepID) {
	d.seen <- step.String()
}

// A task comes to a second worker while the first still works on its step: asynq takes it back from one whose "done" was
// lost, or the sweeper rings again. The second finds the claim, and asks nobody.
func lifeAnOverlapMakesNoSecondCall(t *testing.T, f *fleet) {
	g := newGated()
	d := newDuplicates()
	observed := func(c *tasks.WorkerConfig) { c.Observer, c.Concurrency = d, 1 }
	run := f.submit(bundle(t, chainFlow+step("held", "")+step("after", "    needs: [held]\n")), `1`)
	rung, err := asynq.NewInspectorFromRedisClient(f.rdb).ListPendingTasks("default")
	if err != nil || len(rung) != 1 {
		t.Fatalf("%d pending tasks, %v", len(rung), err)
	}
	f.worker(g.model, observed)
	<-g.begun
	again := asynq.NewClientFromRedisClient(f.rdb)
	f.worker(g.model, observed)
	const overlaps = 3
	for range overlaps {
		if _, err := again.Enqueue(asynq.NewTask(rung[0].Type, rung[0].Payload), asynq.Queue("default")); err != nil {
			t.Fatal(err)
		}
	}
	for range overlaps {
		if step := <-d.seen; step != "held" {
			t.Errorf("a duplicate of %s", step)
		}
	}
	g.release <- struct{}{}
	if s := f.wait(run); s.Outcome != executor.OutcomeOK || g.total() != 2 {
		t.Errorf("outcome %v, %d calls", s.Outcome, g.total())
	}
	for range overlaps { // and the same after the end
		if _, err := again.Enqueue(asynq.NewTask(rung[0].Type, rung[0].Payload), asynq.Queue("default")); err != nil {
			t.Fatal(err)
		}
		<-d.seen
	}
	if g.total() != 2 {
		t.Errorf("%d calls after the end", g.total())
	}
}

// A call that does not end within the drain is cut and given back: the next worker asks again, once, and the cut attempt
// counts for nothing.
func lifeADrainThatIsTooShortRepeatsOnlyWhatItCut(t *testing.T, f *fleet) {
	g := newGated()
	_, stop := f.worker(g.model, func(c *tasks.WorkerConfig) { c.Drain = 100 * time.Millisecond })
	run := f.submit(bundle(t, heldSteps()), `1`)
	<-g.begun
	stop()
	g.release <- struct{}{}
	f.worker(g.model, nil)
	s := f.wait(run)
	if s.Outcome != executor.OutcomeOK || g.count("before") != 1 || g.count("held") != 2 || g.count("after") != 1 {
		t.Errorf("outcome %v, calls %d, %d, %d", s.Outcome, g.count("before"), g.count("held"), g.count("after"))
	}
	if s.Steps[1].Attempts != 1 {
		t.Errorf("the cut attempt was counted: %d", s.Steps[1].Attempts)
	}
}

// It had its turn: behind a long queue it would wait all over.
func lifeAStepGivenBackIsTheNextToBeTaken(t *testing.T, f *fleet) {
	g := newGated()
	_, stop := f.worker(g.model, func(c *tasks.WorkerConfig) { c.Drain, c.Concurrency = 100*time.Millisecond, 1 })
	run := f.submit(bundle(t, heldSteps()), `1`)
	<-g.begun
	others := []tasks.RunID{f.submit(bundle(t, heldSteps()), `2`), f.submit(bundle(t, heldSteps()), `3`)}
	stop()
	next, err := f.rdb.LIndex(t.Context(), "asynq:{default}:pending", -1).Result()
	if err != nil || !strings.HasPrefix(next, run.String()+":") {
		t.Errorf("the next to be taken is %s, want a step of %s; %v", next, run, err)
	}
	for range 1 + len(others) {
		g.release <- struct{}{}
	}
	f.worker(g.model, nil)
	for _, run := range append(others, run) {
		if s := f.wait(run); s.Outcome != executor.OutcomeOK {
			t.Errorf("outcome %v", s.Outcome)
		}
	}
}

func lifeACallLongerThanALeaseIsMadeOnce(t *testing.T, f *fleet) {
	const lease = 3 * time.Second
	g := newGated()
	f.worker(g.model, func(c *tasks.WorkerConfig) { c.Lease = lease })
	f.worker(g.model, func(c *tasks.WorkerConfig) { c.Lease = lease })
	first := f.submit(bundle(t, "flow: first\nsteps:\n"+step("held", "")), `1`) // claimed with its task
	later := f.submit(bundle(t, heldSteps()), `1`)                              // by who ended the step before
	item := f.submit(bundle(t, "flow: item\nsteps:\n"+step("held", "    for_each: '1..1'\n")), `1`)
	for range 3 {
		<-g.begun
	}
	time.Sleep(2*lease + 2*time.Second) // in which a claim that is not extended ends, and the sweepers ring again
	for range 3 {
		g.release <- struct{}{}
	}
	for _, run := range []tasks.RunID{first, later, item} {
		if s := f.wait(run); s.Outcome != executor.OutcomeOK {
			t.Errorf("outcome %v", s.Outcome)
		}
	}
	if g.total() != 1+3+1 {
		t.Errorf("%d calls, want 5", g.total())
	}
}

// A worker that is stopping ends what it has begun, and begins nothing: neither from the queue, nor what its own steps
// make runnable.
func lifeAStoppingWorkerBeginsNothing(t *testing.T, f *fleet) {
	g := newGated()
	w, stop := f.worker(g.model, func(c *tasks.WorkerConfig) { c.Drain = patience })
	run := f.submit(bundle(t, heldSteps()), `1`)
	<-g.begun
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	for !errors.Is(w.Ready(context.Background()), tasks.ErrDraining) {
		time.Sleep(time.Millisecond)
	}
	g.release <- struct{}{}
	<-stopped
	if g.count("held") != 1 || g.count("after") != 0 {
		t.Errorf("the stopping worker made %d calls of the next step", g.count("after"))
	}
	f.worker(g.model, nil)
	if s := f.wait(run); s.Outcome != executor.OutcomeOK || g.total() != 3 {
		t.Errorf("outcome %v, %d calls", s.Outcome, g.total())
	}
}
