package runstate_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/tasks/internal/oracle"
	"fourfold/tasks/internal/runstate"
)

var meeting = redis.NewScript(runstate.MeetScript())

// claims is a key of the queue, by which a cluster finds its node.
func (w *relaying) claims() string { return "fourfold:{" + w.run.Queue + "}:claims" }

// meet is what the script that takes a ring says of it.
func (w *relaying) meet(rdb redis.UniversalClient, ring, token string) runstate.Met {
	w.t.Helper()
	said, err := meeting.Run(context.Background(), rdb, []string{w.claims()}, append([]any{w.run.Queue, ring}, runstate.MeetArgs(token, time.Minute)...)...).Result()
	if err != nil {
		w.t.Fatal(err)
	}
	return runstate.MetBy(said)
}

// end ends the unit in hand, goes on with nothing, and returns the units that became ready.
func (w *relaying) end() (ready []string) {
	w.t.Helper()
	e := ok("")
	e.Onward = runstate.Onward{}
	c, err := w.s.Complete(context.Background(), w.held, e)
	if err != nil || c.Word != runstate.Settled {
		w.t.Fatal(c.Word, err)
	}
	for _, r := range c.Ready {
		ready = append(ready, r.Unit.String())
	}
	return ready
}

// Whatever is taken from the queue is claimed in the same moment, so that it comes again after a claim's time if nobody hears of it. What
// has other inputs than the run's is handed them under the same token, as the same delivery.
func TestWhatIsTakenIsClaimed(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		w := newRelaying(t, rdb, pair())
		if _, err := w.s.Expand(ctx, w.held, 0, [][]byte{[]byte("10"), []byte("20")}, runstate.Onward{}); err != nil {
			t.Fatal(err)
		}
		begin := func(ring string, u runstate.Unit, terms runstate.Terms) runstate.Grant {
			t.Helper()
			met := w.meet(rdb, ring, "taken "+ring)
			if !met.Claimed() {
				t.Fatalf("%s is not claimed: %+v", ring, met)
			}
			if c, _, err := w.s.Begin(ctx, w.task(u, "another"), terms); err != nil || c.Word != runstate.Busy {
				t.Errorf("%s for another worker: %s, %v", ring, c.Word, err)
			}
			if w.meet(rdb, ring, "again "+ring).Claimed() {
				t.Errorf("%s is claimed by whoever takes it", ring)
			}
			w.held = met.Under(w.task(u, "its own"))
			c, grant, err := w.s.Begin(ctx, w.held, terms)
			if err != nil || c.Word != runstate.Claimed || grant.Deliveries != 1 {
				t.Errorf("%s: %s, delivery %d, %v", ring, c.Word, grant.Deliveries, err)
			}
			return grant
		}
		if g := begin("run:1:0.0:0", runstate.Unit{Step: 0, Item: 0}, terms); string(g.Item) != "10" {
			t.Errorf("the item is %q", g.Item)
		}
		w.end()
		if g := begin("run:1:0.1:0", runstate.Unit{Step: 0, Item: 1}, terms); string(g.Item) != "20" {
			t.Errorf("the item is %q", g.Item)
		}
		w.end()
		parent := terms
		parent.WantValues = []int{0}
		if g := begin("run:1:1:0", runstate.Step(1), parent); string(g.Values[0]) != "[7,7]" || g.Parents[0] != executor.OutcomeOK {
			t.Errorf("the parent's value is %q, its outcome %v", g.Values[0], g.Parents[0])
		}
		w.end()
		if w.meet(rdb, "run:1:1:0", "late").Claimed() {
			t.Error("what has ended is claimed")
		}
	})
}

// The items of a step that was ended as a whole, while its run goes on, are nobody's work.
func TestAnItemOfAStepThatHasEndedIsNotClaimed(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		run := newRun("run", oracle.Link([]runstate.Node{{ID: "each"}, {ID: "bad"}, {ID: "notify", Parents: []runstate.Edge{{Step: 0, Mode: 'a'}, {Step: 1, Mode: 'a'}}}}))
		run.FailFast = true
		w := newRelaying(t, rdb, run)
		if _, err := w.s.Expand(ctx, w.held, 0, [][]byte{[]byte("10"), []byte("20")}, runstate.Onward{}); err != nil {
			t.Fatal(err)
		}
		bad := w.task(runstate.Step(1), "bad")
		if c, _, err := w.s.Begin(ctx, bad, terms); err != nil || c.Word != runstate.Claimed {
			t.Fatal(c.Word, err)
		}
		c, err := w.s.Complete(ctx, bad, runstate.Ending{Outcome: executor.OutcomeFailed, Cause: runstate.CauseTimeout})
		if err != nil || c.Finished || len(c.Closed) != 2 {
			t.Fatalf("%+v, %v", c, err)
		}
		if w.meet(rdb, "run:1:0.0:0", "late").Claimed() {
			t.Error("it is claimed")
		}
		if n, err := rdb.ZCard(ctx, w.claims()).Result(); n != 0 || err != nil {
			t.Errorf("%d claims, %v", n, err)
		}
	})
}
