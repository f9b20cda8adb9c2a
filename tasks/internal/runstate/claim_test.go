package runstate_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/internal/redistest"
	"fourfold/provider"
	"fourfold/tasks/internal/oracle"
	"fourfold/tasks/internal/runstate"
)

// oneStep makes a run of one step and returns the task that delivers it under a token.
func oneStep(t *testing.T, s *runstate.Store) func(token string) runstate.Task {
	t.Helper()
	n := newRun("one", oracle.Link([]runstate.Node{{ID: "only"}}))
	if c, err := s.Create(context.Background(), n, nil); err != nil || c.Word != runstate.Created {
		t.Fatal(c.Word, err)
	}
	return func(token string) runstate.Task {
		return runstate.Task{Ref: n.Ref, Generation: 1, Unit: runstate.Step(0), Token: token}
	}
}

// A client that gets no answer sends the script again. That is no further delivery: a Redis that stalls must not bring a
// step nearer to its end by crash. It has the whole lease from then on, though the claim's own may have ended.
func TestTheSameTokenAgainIsTheSameDelivery(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		task := oneStep(t, s)
		for i := range 2 * terms.MaxDeliveries {
			these := terms
			if i == 0 {
				these.Lease = -time.Second // it has ended at once
			}
			c, grant, err := s.Begin(context.Background(), task("a"), these)
			if err != nil || c.Word != runstate.Claimed || grant.Deliveries != 1 {
				t.Fatalf("word %s, %d deliveries, %v", c.Word, grant.Deliveries, err)
			}
		}
		if c, _, err := s.Begin(context.Background(), task("b"), terms); err != nil || c.Word != runstate.Busy {
			t.Fatalf("another token: %s, %v", c.Word, err)
		}
	})
}

func TestAStepThatItsWorkersDieOnEndsByCrash(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		task := oneStep(t, s)
		short := terms
		short.Lease = -time.Second // it has ended at once: the worker is dead
		for i, token := range []string{"a", "b", "c"} {
			if c, grant, err := s.Begin(context.Background(), task(token), short); err != nil || c.Word != runstate.Claimed || grant.Deliveries != i+1 {
				t.Fatalf("delivery %d: word %s, %d deliveries, %v", i+1, c.Word, grant.Deliveries, err)
			}
		}
		c, _, err := s.Begin(context.Background(), task("d"), short)
		if err != nil || c.Word != runstate.Crashed || !c.Finished || c.Marker.Cause != runstate.CauseCrash || c.Marker.Outcome != executor.OutcomeFailed {
			t.Fatalf("%+v, %v", c, err)
		}
	})
}

// Giving a claim back, to wait for a provider or because the worker stops, is no delivery, however often.
func TestAClaimGivenBackCountsAsNoDelivery(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		task := oneStep(t, s)
		for range 3 * terms.MaxDeliveries {
			c, grant, err := s.Begin(context.Background(), task("a"), terms)
			if err != nil || c.Word != runstate.Claimed || grant.Deliveries != 1 {
				t.Fatalf("word %s, %d deliveries, %v", c.Word, grant.Deliveries, err)
			}
			if word, err := s.Park(context.Background(), task("a"), 0, runstate.Progress{}); err != nil || word != runstate.Parked {
				t.Fatal(word, err)
			}
			if word, err := s.Park(context.Background(), task("a"), 0, runstate.Progress{}); err != nil || word != runstate.Lost {
				t.Fatalf("given back twice: %s, %v", word, err)
			}
		}
	})
}

// Redis refuses what may need memory when it has none left, but for scripts that have begun to write. What has been paid
// for is recorded, and claims are kept; new work is refused.
func TestWithoutMemoryWorkInFlightIsKeptAndRecorded(t *testing.T) {
	server := redistest.Start(t)
	s := newStore(t, server.Client(t))
	task := oneStep(t, s)
	ctx := context.Background()
	if c, _, err := s.Begin(ctx, task("a"), terms); err != nil || c.Word != runstate.Claimed {
		t.Fatal(c.Word, err)
	}
	if err := server.Admin(t).ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(ctx, newRun("another", oracle.Link([]runstate.Node{{ID: "only"}})), nil); !redis.HasErrorPrefix(err, "OOM") {
		t.Errorf("a new run: %v", err)
	}
	if _, ok, err := s.Read(ctx, newRun("another", nil).Ref); ok || err != nil {
		t.Errorf("the refused run is there in part: %v %v", ok, err)
	}
	if held, err := s.Beat(ctx, task("a").Queue, terms.Lease, []runstate.Task{task("a")}); err != nil || !held[0] {
		t.Errorf("beat: %v %v", held, err)
	}
	c, err := s.Complete(ctx, task("a"), runstate.Ending{Outcome: executor.OutcomeOK, Value: []byte("1")})
	if err != nil || c.Word != runstate.Settled || !c.Finished {
		t.Errorf("complete: %s %v", c.Word, err)
	}
}

// Whoever rings again for a unit that a live worker holds would have it paid for twice.
func TestAHeldUnitIsNotRedriven(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		task := oneStep(t, s)("a")
		ctx := context.Background()
		if c, _, err := s.Begin(ctx, task, terms); err != nil || c.Word != runstate.Claimed {
			t.Fatal(c.Word, err)
		}
		entry := runstate.Entry{Ref: task.Ref, Generation: 1, Unit: task.Unit}
		for _, anyNumber := range []bool{true, false} {
			if n, err := s.Redrive(ctx, task.Ref, 1, []runstate.Entry{entry}, anyNumber); err != nil || n != 0 {
				t.Errorf("redriven: %d, %v", n, err)
			}
		}
		if held, err := s.Beat(ctx, task.Queue, time.Minute, []runstate.Task{task}); err != nil || !held[0] {
			t.Errorf("beat: %v, %v", held, err)
		}
	})
}

// No key is without an end: a finished run's expire after its retention, an open one's do not, nor those of a rerun.
func TestKeysOfAFinishedRunExpire(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		ctx := context.Background()
		expire := func(task runstate.Task, when string, want bool) {
			t.Helper()
			for _, kind := range []string{"run", "val"} {
				left, err := rdb.PTTL(ctx, "fourfold:{"+task.Queue+"}:"+kind+":"+task.Run).Result()
				if err != nil || (left > 0) != want {
					t.Errorf("%s: %s expires in %v, %v", when, kind, left, err)
				}
			}
		}
		made := func(name string, input []byte) runstate.Task {
			t.Helper()
			n := newRun(name, oracle.Link([]runstate.Node{{ID: "only"}}))
			n.Input = input
			if c, err := s.Create(ctx, n, nil); err != nil || c.Word != runstate.Created {
				t.Fatal(c.Word, err)
			}
			return runstate.Task{Ref: n.Ref, Generation: 1, Unit: runstate.Step(0), Token: "a"}
		}
		task := made("failed", bytes.Repeat([]byte("1"), 100)) // which is apart from the run's records
		expire(task, "open", false)
		ended := made("fine", []byte("1"))
		if c, err := s.Complete(ctx, ended, runstate.Ending{Outcome: executor.OutcomeOK, Value: []byte("1")}); err != nil || !c.Finished {
			t.Fatal(c.Word, err)
		}
		expire(ended, "finished OK", true)
		if c, err := s.Complete(ctx, task, runstate.Ending{Outcome: executor.OutcomeFailed, Cause: runstate.CauseTimeout}); err != nil || !c.Finished {
			t.Fatal(c.Word, err)
		}
		expire(task, "finished", true)
		if c, err := s.Rerun(ctx, task.Ref); err != nil || c.Word != runstate.Rerun {
			t.Fatal(c.Word, err)
		}
		expire(task, "rerun", false)
	})
}

// A task of an earlier generation may be delivered long after the rerun. It is not the new one's.
func TestATaskOfAnEarlierGenerationChangesNothing(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		old := oneStep(t, s)("a")
		ctx := context.Background()
		failed := runstate.Ending{Outcome: executor.OutcomeFailed, Cause: runstate.CauseTimeout}
		if c, err := s.Complete(ctx, old, failed); err != nil || !c.Finished {
			t.Fatal(c.Word, err)
		}
		if c, err := s.Rerun(ctx, old.Ref); err != nil || c.Generation != 2 {
			t.Fatal(c.Word, err)
		}
		before, _, err := s.Read(ctx, old.Ref)
		if err != nil {
			t.Fatal(err)
		}
		if c, _, err := s.Begin(ctx, old, terms); err != nil || c.Word != runstate.Stale {
			t.Errorf("begin: %s, %v", c.Word, err)
		}
		for _, ending := range []runstate.Ending{failed, {Outcome: executor.OutcomeOK, Value: []byte("1")}} {
			if c, err := s.Complete(ctx, old, ending); err != nil || c.Word != runstate.Stale {
				t.Errorf("complete: %s, %v", c.Word, err)
			}
		}
		if c, err := s.Expand(ctx, old, 0, [][]byte{[]byte("1")}, runstate.Onward{}); err != nil || c.Word != runstate.Stale {
			t.Errorf("expand: %s, %v", c.Word, err)
		}
		if held, err := s.Beat(ctx, old.Queue, time.Minute, []runstate.Task{old}); err != nil || held[0] {
			t.Errorf("beat: %v, %v", held, err)
		}
		if n, err := s.Redrive(ctx, old.Ref, 1, []runstate.Entry{{Ref: old.Ref, Generation: 1, Unit: old.Unit}}, true); err != nil || n != 0 {
			t.Errorf("redrive: %d, %v", n, err)
		}
		after, _, err := s.Read(ctx, old.Ref)
		if diff := cmp.Diff(before, after, cmp.Comparer(func(a, b executor.ModelVersion) bool { return a == b }),
			cmp.Comparer(func(a, b executor.Usage) bool { return a == b }), cmp.Comparer(func(a, b provider.Name) bool { return a == b })); err != nil || diff != "" {
			t.Errorf("%v (-before +after):\n%s", err, diff)
		}
	})
}

// Who has lost a claim is told, and does not extend the one of whoever has taken it.
func TestALostClaimIsNotHeld(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		task := oneStep(t, s)
		ctx := context.Background()
		over := terms
		over.Lease = -time.Second
		if c, _, err := s.Begin(ctx, task("a"), over); err != nil || c.Word != runstate.Claimed {
			t.Fatal(c.Word, err)
		}
		if c, _, err := s.Begin(ctx, task("b"), terms); err != nil || c.Word != runstate.Claimed {
			t.Fatal(c.Word, err)
		}
		held, err := s.Beat(ctx, task("a").Queue, time.Minute, []runstate.Task{task("a"), task("b")})
		if diff := cmp.Diff([]bool{false, true}, held); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if word, err := s.Park(ctx, task("a"), 0, runstate.Progress{}); err != nil || word != runstate.Lost {
			t.Errorf("park by the loser: %s, %v", word, err)
		}
	})
}
