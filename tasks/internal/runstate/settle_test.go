package runstate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/internal/redistest"
)

// ending is a step's share of the script that ends it OK, for a worker that goes on with the last one.
func (n *nursery) ending(t *testing.T, run string, step int) *share {
	t.Helper()
	task := Task{Ref: Ref{"q", run}, Generation: 1, Unit: Step(step), Token: "worker"}
	return n.Store.ending(task, Ending{
		Outcome: executor.OutcomeOK, Value: fmt.Append(nil, step),
		Onward: Onward{Token: "next", Lease: time.Minute, Steps: map[int]Terms{2: {}}},
	})
}

// hold has a worker claim steps.
func (n *nursery) hold(t *testing.T, run string, steps ...int) {
	t.Helper()
	for _, step := range steps {
		task := Task{Ref: Ref{"q", run}, Generation: 1, Unit: Step(step), Token: "worker"}
		c, _, err := n.Begin(t.Context(), task, Terms{Lease: time.Minute, MaxDeliveries: 3, Trusted: 2})
		if err != nil || c.Word != Claimed {
			t.Fatal(run, step, c.Word, err)
		}
	}
}

func TestStepsThatOneScriptEndsHaveAnAnswerEach(t *testing.T) {
	inEachWay(t, func(t *testing.T, n *nursery) {
		ctx := t.Context()
		n.keep(t)
		for _, id := range []string{"both", "one", "broken"} {
			n.together(n.run(id, ""))
			n.hold(t, id, 0, 1)
		}
		if err := n.rdb.Del(ctx, valKey(Ref{"q", "broken"})).Err(); err != nil {
			t.Fatal(err)
		}
		if err := n.rdb.Set(ctx, valKey(Ref{"q", "broken"}), "by somebody else", 0).Err(); err != nil {
			t.Fatal(err)
		}
		shares := []*share{
			n.ending(t, "gone", 0), n.ending(t, "both", 0), n.ending(t, "broken", 0), n.ending(t, "one", 0),
			n.ending(t, "both", 0), n.ending(t, "both", 1),
		}
		n.settle(endingKind{queue: "q"}, shares)
		if diff := cmp.Diff([]string{"slow", "settled", "WRONGTYPE", "settled", "slow", "settled"}, answers(shares)); diff != "" {
			t.Fatalf("answers (-want +got):\n%s", diff)
		}
		// The second parent of "both" fires the child, and hands it to its worker.
		c, err := decodeSettled(str(shares[5].said), 1, executor.OutcomeOK)
		if err != nil || c.Next == nil || c.Next.Unit != Step(2) {
			t.Errorf("%+v, %v", c, err)
		}
		claims, err := n.rdb.ZRange(ctx, claimsKey("q"), 0, -1).Result()
		slices.Sort(claims)
		if diff := cmp.Diff([]string{"both:1:2", "broken:1:1", "one:1:1"}, claims); diff != "" || err != nil {
			t.Errorf("claims: %v (-want +got):\n%s", err, diff)
		}
		if token, err := n.rdb.HGet(ctx, runKey(Ref{"q", "both"}), "c2").Result(); token != "next" || err != nil {
			t.Errorf("the child is held by %q, %v", token, err)
		}
		// The last steps of two runs end both.
		last := []*share{n.ending(t, "both", 2), n.ending(t, "one", 1)}
		n.settle(endingKind{queue: "q"}, last)
		if diff := cmp.Diff([]string{"settled", "settled"}, answers(last)); diff != "" {
			t.Fatalf("answers (-want +got):\n%s", diff)
		}
		n.settle(endingKind{queue: "q"}, []*share{n.ending(t, "one", 2)})
		for _, id := range []string{"both", "one"} {
			s, ok, err := n.Read(ctx, Ref{"q", id})
			if err != nil || !ok || !s.Finished {
				t.Errorf("%s has not ended: %v %v", id, ok, err)
			}
			if left, err := n.rdb.PTTL(ctx, valKey(Ref{"q", id})).Result(); left <= 0 || err != nil {
				t.Errorf("the values of %s expire in %v, %v", id, left, err)
			}
		}
		due, err := n.rdb.ZRange(ctx, dueKey("q"), 0, -1).Result()
		if diff := cmp.Diff([]string{"broken"}, due); diff != "" || err != nil {
			t.Errorf("to be visited: %v (-want +got):\n%s", err, diff)
		}
	})
}

// What has been paid for is recorded, also of many at once.
func TestWithoutMemoryStepsThatEndTogetherAreRecorded(t *testing.T) {
	server := redistest.Start(t)
	n := newNursery(t, server.Client(t), false)
	n.keep(t)
	var shares []*share
	for i := range 5 {
		id := fmt.Sprint("run", i)
		n.together(n.run(id, ""))
		n.hold(t, id, 0)
		shares = append(shares, n.ending(t, id, 0))
	}
	if err := server.Admin(t).ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	shares = append([]*share{n.ending(t, "gone", 0)}, shares...)
	n.settle(endingKind{queue: "q"}, shares)
	if diff := cmp.Diff([]string{"slow", "settled", "settled", "settled", "settled", "settled"}, answers(shares)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if born := n.together(n.run("new", ""), n.run("newer", "")); !cmp.Equal(born, []string{"OOM", "OOM"}) {
		t.Errorf("new runs: %s", born)
	}
}

// A worker that is handed a step is told how much time it has, and none means that there is no deadline.
func TestNothingIsHandedOnFromTheDeadlineOn(t *testing.T) {
	begun := time.UnixMilli(1_700_000_000_123)
	for _, c := range []struct {
		name string
		at   time.Duration
		left time.Duration // 0: the step is not handed on
	}{
		{"a millisecond before", time.Second - time.Millisecond, time.Millisecond},
		{"in its millisecond", time.Second, 0},
		{"after it", time.Second + time.Millisecond, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			redisAt := miniredis.RunT(t)
			redisAt.SetTime(begun)
			rdb := redis.NewClient(&redis.Options{Addr: redisAt.Addr()})
			t.Cleanup(func() { _ = rdb.Close() })
			n := newNursery(t, rdb, false)
			n.keep(t)
			r := n.run("r", "")
			r.Window = time.Second
			n.together(r)
			n.hold(t, "r", 0, 1)
			n.settle(endingKind{queue: "q"}, []*share{n.ending(t, "r", 0)})
			redisAt.SetTime(begun.Add(c.at))
			change, err := n.Complete(t.Context(), Task{Ref: r.Ref, Generation: 1, Unit: Step(1), Token: "worker"}, Ending{
				Outcome: executor.OutcomeOK, Value: []byte("1"), Onward: Onward{Token: "next", Lease: time.Minute, Steps: map[int]Terms{2: {}}},
			})
			if err != nil || change.Word != Settled {
				t.Fatal(change.Word, err)
			}
			if handed := change.Next != nil; handed != (c.left > 0) || handed && change.Next.Grant.Left != c.left {
				t.Errorf("handed on: %+v, want %v left", change.Next, c.left)
			}
		})
	}
}
