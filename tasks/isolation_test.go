package tasks

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/flow"
	"fourfold/tasks/internal/runstate"
)

func TestSuspectsHaveEverLessCompany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slots, most int
		unasked     int
		widths      []int // from the first delivery that is asked for
	}{
		{slots: 100, most: 5, unasked: 2, widths: []int{21, 4, 1}},
		{slots: 10_000, most: 5, unasked: 2, widths: []int{464, 21, 1}},
		{slots: 100, most: 3, unasked: 2, widths: []int{1}},
		{slots: 100, most: 2, unasked: 1, widths: []int{1}},
		{slots: 100, most: 1, unasked: 1, widths: []int{}},
		{slots: 1, most: 5, unasked: 2, widths: []int{1, 1, 1}},
	} {
		i := newIsolation(c.slots, c.most)
		if got := i.unasked(); got != c.unasked {
			t.Errorf("%d slots, %d deliveries: %d are not asked for; want %d", c.slots, c.most, got, c.unasked)
		}
		widths := []int{}
		for d := i.unasked() + 1; d <= c.most; d++ {
			widths = append(widths, i.width(d))
		}
		if diff := cmp.Diff(c.widths, widths); diff != "" {
			t.Errorf("%d slots, %d deliveries (-want +got):\n%s", c.slots, c.most, diff)
		}
	}
}

func TestASuspectIsAloneTheLastTime(t *testing.T) {
	t.Parallel()
	i := newIsolation(100, 5)
	leave, ok := i.enter(5)
	if !ok {
		t.Fatal("no room in an empty worker")
	}
	for d := 3; d <= 5; d++ {
		if _, ok := i.enter(d); ok {
			t.Errorf("one at its delivery %d was let in beside one at its last", d)
		}
	}
	leave()
	for n := range 4 {
		if _, ok := i.enter(4); !ok {
			t.Errorf("no room beside %d others at their fourth", n)
		}
	}
	if _, ok := i.enter(5); ok {
		t.Error("one at its last was let in beside others")
	}
	if _, ok := i.enter(3); ok {
		t.Error("one at its third made it more than those at their fourth allow")
	}
}

// Behind a long queue it would wait for its turn again, and find no room again.
func TestASuspectWithoutRoomComesAgainAheadOfItsQueue(t *testing.T) {
	t.Parallel()
	const lost = trusted
	w, rdb, refs := backlog(t, 3)
	ctx := t.Context()
	run, ref, err := refOf(refs[2].Run)
	if err != nil {
		t.Fatal(err)
	}
	for n := range lost {
		task := runstate.Task{Ref: ref, Generation: 1, Unit: runstate.Step(0), Token: fmt.Sprint("dead", n)}
		c, _, err := w.store.Begin(ctx, task, runstate.Terms{Lease: time.Millisecond, MaxDeliveries: w.cfg.MaxDeliveries, WantInput: true})
		if err != nil || c.Word != runstate.Claimed {
			t.Fatal(c.Word, err)
		}
		time.Sleep(5 * time.Millisecond) // the lease ends, by Redis' clock
	}
	if _, ok := w.suspects.enter(w.cfg.MaxDeliveries); !ok {
		t.Fatal("no room in an empty worker")
	}
	j := &job{payload: payload{Run: run, Generation: 1, Unit: runstate.Step(0)}, step: &flow.Step{}}
	j.task = runstate.Task{Ref: ref, Generation: 1, Unit: j.Unit, Token: "suspect"}
	before := rdb.Time(ctx).Val().Truncate(time.Millisecond)
	claimed, verdict := w.begin(ctx, j)
	if claimed || verdict.GivesBack() {
		t.Fatalf("claimed: %v; given back to asynq: %v", claimed, verdict.GivesBack())
	}
	entry := ref.Run + ":1:0:1"
	at, err := rdb.ZScore(ctx, "fourfold:{default}:outbox", entry).Result()
	now := rdb.Time(ctx).Val()
	if at := time.UnixMilli(int64(at)); err != nil || at.Before(before.Add(suspectPause)) || at.After(now.Add(suspectPause)) {
		t.Fatalf("rung for at %v, %v; it is %v, and was asked for after %v", at, err, now, before)
	}
	rdb.ZAddXX(ctx, "fourfold:{default}:outbox", redis.Z{Member: entry}) // as if the pause had passed
	sweepOnce(t, w)
	if next, err := rdb.LIndex(ctx, "asynq:{default}:pending", -1).Result(); err != nil || next != entry {
		t.Errorf("the next to be taken is %s, want %s; %v", next, entry, err)
	}
}

func TestTheMoreSuspectsWaitTheLongerEachStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIsolation(100, 5)
		last := time.Duration(0)
		for range 1001 {
			last = i.pause()
		}
		if want := suspectPause + 1000*suspectShare; last != want {
			t.Errorf("the last of many stays away for %v, want %v", last, want)
		}
		time.Sleep(last)
		synctest.Wait()
		if again := i.pause(); again != suspectPause {
			t.Errorf("when all have come again one stays away for %v, want %v", again, suspectPause)
		}
	})
}
