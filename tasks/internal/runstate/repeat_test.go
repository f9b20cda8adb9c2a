package runstate_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/internal/redistest"
	"fourfold/provider"
	"fourfold/tasks/internal/oracle"
	"fourfold/tasks/internal/runstate"
)

// relaying is a worker that goes on with whatever it is handed, and sends each script twice, as a client does that got no answer.
type relaying struct {
	t    *testing.T
	s    *runstate.Store
	run  runstate.NewRun
	held runstate.Task
}

func newRelaying(t *testing.T, rdb redis.UniversalClient, run runstate.NewRun) *relaying {
	t.Helper()
	w := &relaying{t: t, s: newStore(t, rdb), run: run}
	ctx := context.Background()
	if c, err := w.s.Create(ctx, w.run, nil); err != nil || c.Word != runstate.Created {
		t.Fatal(c.Word, err)
	}
	w.held = w.task(runstate.Step(0), "first")
	if c, _, err := w.s.Begin(ctx, w.held, terms); err != nil || c.Word != runstate.Claimed {
		t.Fatal(c.Word, err)
	}
	return w
}

// pair is a run of a step and the one that follows it.
func pair() runstate.NewRun {
	return newRun("run", oracle.Link([]runstate.Node{{ID: "a"}, {ID: "b", Parents: []runstate.Edge{{Step: 0, Mode: 'r'}}}}))
}

func (w *relaying) task(u runstate.Unit, token string) runstate.Task {
	return runstate.Task{Ref: w.run.Ref, Generation: 1, Unit: u, Token: token}
}

func onward(token string) runstate.Onward {
	return runstate.Onward{Token: token, Lease: time.Minute, Steps: map[int]runstate.Terms{0: {}, 1: {WantValues: []int{0}}}}
}

// twice makes a change two times and returns what was said, which must be the same; what is to be rung for is said once, and
// then the outbox has it.
func (w *relaying) twice(change func() (runstate.Change, error)) runstate.Change {
	w.t.Helper()
	first, err := change()
	if err != nil {
		w.t.Fatal(err)
	}
	again, err := change()
	if err != nil {
		w.t.Fatal(err)
	}
	if len(again.Ready) > 0 {
		w.t.Errorf("rung for twice: %+v", again.Ready)
	}
	if diff := cmp.Diff(first, again, cmpopts.IgnoreFields(runstate.Change{}, "Ready"), cmpopts.EquateComparable(executor.ModelVersion{}, executor.Usage{}, provider.Name{}), cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("the second answer (-first +second):\n%s", diff)
	}
	return first
}

func ok(token string) runstate.Ending {
	return runstate.Ending{Outcome: executor.OutcomeOK, Value: []byte("7"), End: runstate.StepEnd{Attempts: 1}, Onward: onward(token)}
}

func (w *relaying) complete(token string) runstate.Change {
	w.t.Helper()
	return w.twice(func() (runstate.Change, error) { return w.s.Complete(context.Background(), w.held, ok(token)) })
}

// goOn is with what a change handed to the worker.
func (w *relaying) goOn(c runstate.Change, unit, token string) {
	w.t.Helper()
	if c.Next == nil || c.Next.Unit.String() != unit {
		w.t.Fatalf("handed %+v, want unit %s", c.Next, unit)
	}
	w.held = w.task(c.Next.Unit, token)
}

func TestALostAnswerIsGivenAgain(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		w := newRelaying(t, rdb, pair())
		c := w.complete("next")
		w.goOn(c, "1", "next")
		if len(c.Closed) != 1 || c.Next.Grant.Deliveries != 1 || string(c.Next.Grant.Values[0]) != "7" {
			t.Errorf("%+v", c)
		}
		if held, err := w.s.Beat(context.Background(), w.held.Queue, time.Minute, []runstate.Task{w.held}); err != nil || !slices.Equal(held, []bool{true}) {
			t.Errorf("the claim: %v, %v", held, err)
		}
	})
}

// Its first claim has ended before it hears of it: the answer that it gets comes with a new one.
func TestALostAnswerIsGivenAgainWithAClaim(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		w := newRelaying(t, rdb, pair())
		for _, lease := range []time.Duration{-time.Second, time.Minute} {
			e := ok("next")
			e.Onward.Lease = lease
			if c, err := w.s.Complete(ctx, w.held, e); err != nil || c.Next == nil {
				t.Fatalf("%+v, %v", c, err)
			}
		}
		if c, _, err := w.s.Begin(ctx, w.task(runstate.Step(1), "another"), terms); err != nil || c.Word != runstate.Busy {
			t.Errorf("another worker: %s, %v", c.Word, err)
		}
	})
}

func TestWithoutMemoryALostAnswerIsGivenAgain(t *testing.T) {
	rdb := redistest.Start(t).Client(t)
	w := newRelaying(t, rdb, pair())
	w.goOn(w.twice(func() (runstate.Change, error) {
		c, err := w.s.Complete(context.Background(), w.held, ok("next"))
		if full := rdb.ConfigSet(context.Background(), "maxmemory", "1").Err(); full != nil {
			t.Fatal(full)
		}
		return c, err
	}), "1", "next")
}

// The quick script is asked first here, and the whole one when it is asked again.
func TestALostAnswerOfTheQuickScriptIsGivenAgain(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		w := newRelaying(t, rdb, pair())
		c := w.twice(func() (runstate.Change, error) {
			e := ok("next")
			e.Onward.Steps[1] = runstate.Terms{}
			return w.s.Complete(context.Background(), w.held, e)
		})
		w.goOn(c, "1", "next")
	})
}

func TestALostAnswerOfAForEachStepIsGivenAgain(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		w := newRelaying(t, rdb, pair())
		c := w.twice(func() (runstate.Change, error) {
			return w.s.Expand(context.Background(), w.held, 1, [][]byte{[]byte("1"), []byte("2")}, onward("one"))
		})
		w.goOn(c, "0.0", "one")
		w.goOn(w.complete("two"), "0.1", "two")
		c = w.complete("after") // the last item joins them
		w.goOn(c, "1", "after")
		if len(c.Items) != 2 || len(c.Closed) != 1 {
			t.Errorf("%d items, %d steps ended", len(c.Items), len(c.Closed))
		}
	})
}

// Whoever else asks is told that it is done, and so is the worker itself once the unit is in other hands.
func TestNobodyElseIsGivenTheAnswer(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		w := newRelaying(t, rdb, pair())
		done := func(who string, on runstate.Ending) {
			t.Helper()
			if c, err := w.s.Complete(ctx, w.held, on); err != nil || c.Word != runstate.Done || c.Next != nil {
				t.Errorf("%s: %+v, %v", who, c, err)
			}
		}
		brief := ok("next")
		brief.Onward.Lease = -time.Second // it has ended at once
		if c, err := w.s.Complete(ctx, w.held, brief); err != nil || c.Next == nil {
			t.Fatal(c, err)
		}
		done("another worker", ok("another"))
		none := ok("")
		none.Onward = runstate.Onward{}
		done("who goes on with nothing", none)
		if c, _, err := w.s.Begin(ctx, w.task(runstate.Step(1), "another"), terms); err != nil || c.Word != runstate.Claimed {
			t.Fatal(c.Word, err)
		}
		done("the worker that lost it", ok("next"))
		if c, err := w.s.Cancel(ctx, w.run.Ref); err != nil || !c.Finished {
			t.Fatal(c, err)
		}
		done("after the end of the run", ok("another"))
	})
}
