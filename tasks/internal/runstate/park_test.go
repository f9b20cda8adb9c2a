package runstate_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/tasks/internal/runstate"
)

// down begins the unit and says for how long an outage has kept it waiting; then it parks it, for that and more.
func down(t *testing.T, s *runstate.Store, task runstate.Task, more time.Duration) time.Duration {
	t.Helper()
	c, grant, err := s.Begin(context.Background(), task, terms)
	if err != nil || c.Word != runstate.Claimed {
		t.Fatal(c.Word, err)
	}
	p := runstate.Progress{Parked: time.UnixMilli(1_700_000_000_000), Down: grant.Progress.Down + more}
	if word, err := s.Park(context.Background(), task, 0, p); err != nil || word != runstate.Parked {
		t.Fatal(word, err)
	}
	return grant.Progress.Down
}

func TestWhatAnOutageHasKeptAUnitWaitingIsKept(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		task := oneStep(t, s)
		for i, c := range []struct{ more, want time.Duration }{{0, 0}, {time.Minute, 0}, {time.Second, time.Minute}, {0, 61 * time.Second}, {0, 61 * time.Second}} {
			if got := down(t, s, task("a"), c.more); got != c.want {
				t.Errorf("delivery %d: %v, want %v", i, got, c.want)
			}
		}
		entry := runstate.Entry{Ref: task("a").Ref, Generation: 1, Unit: task("a").Unit}
		if n, err := s.Redrive(context.Background(), entry.Ref, 1, []runstate.Entry{entry}, true); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		if got := down(t, s, task("a"), 0); got != 61*time.Second {
			t.Errorf("rung for again: %v", got)
		}
	})
}

func TestARerunHasNotWaitedYet(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		task := oneStep(t, s)("a")
		down(t, s, task, time.Minute)
		ctx := context.Background()
		if c, err := s.Cancel(ctx, task.Ref); err != nil || !c.Finished {
			t.Fatal(c.Word, err)
		}
		if c, err := s.Rerun(ctx, task.Ref); err != nil || c.Generation != 2 {
			t.Fatal(c.Word, err)
		}
		task.Generation = 2
		for range 2 {
			if got := down(t, s, task, 0); got != 0 {
				t.Errorf("%v", got)
			}
		}
	})
}

// During a rollout a unit goes back and forth between workers that know of this wait and such that do not.
func TestWorkersThatDoNotKnowOfTheWaitForAnOutageReadAndKeepWhatIsParked(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		task := oneStep(t, s)("a")
		down(t, s, task, time.Minute)
		ctx, key := context.Background(), "fourfold:{"+task.Queue+"}:run:"+task.Run
		rec, err := rdb.HGet(ctx, key, "s0").Result()
		if err != nil || !regexp.MustCompile(`^q\|1\|0\|\d+\|0;0;;;1700000000000\|$`).MatchString(rec) {
			t.Errorf("the record is %q, %v", rec, err)
		}
		again := regexp.MustCompile(`^q\|1\|`).ReplaceAllString(rec, "q|2|") // by one of the others, which has claimed and parked it
		if err := rdb.HSet(ctx, key, "s0", again).Err(); err != nil {
			t.Fatal(err)
		}
		if got := down(t, s, task, 0); got != time.Minute {
			t.Errorf("afterwards: %v", got)
		}
		if err := rdb.HDel(ctx, key, "w0").Err(); err != nil { // parked by one that has never heard of it
			t.Fatal(err)
		}
		if got := down(t, s, task, 0); got != 0 {
			t.Errorf("parked by another: %v", got)
		}
	})
}

// A run's hash stays compact while it has few fields: a unit has no more of them parked than claimed, and none when it is done.
func TestTheWaitForAnOutageTakesNoFieldOfAUnitThatIsClaimedOrDone(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		task := oneStep(t, s)("a")
		ctx := context.Background()
		fields := func() int64 {
			n, err := rdb.HLen(ctx, "fourfold:{"+task.Queue+"}:run:"+task.Run).Result()
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		queued := fields()
		down(t, s, task, time.Minute)
		if n := fields(); n != queued+1 {
			t.Errorf("parked: %d fields, %d before", n, queued)
		}
		if c, _, err := s.Begin(ctx, task, terms); err != nil || c.Word != runstate.Claimed || fields() != queued+1 {
			t.Errorf("claimed: %s, %v, %d fields, %d before", c.Word, err, fields(), queued)
		}
		if c, err := s.Complete(ctx, task, runstate.Ending{Outcome: executor.OutcomeOK, Value: []byte("1")}); err != nil || fields() != queued {
			t.Errorf("done: %s, %v, %d fields, %d before", c.Word, err, fields(), queued)
		}
	})
}
