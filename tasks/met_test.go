package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

// The worker of a step in flight ends its run at the deadline by itself, whether the step was claimed with its task or later.
func TestTheDeadlineEndsAStepThatWasClaimedWithItsTask(t *testing.T) {
	t.Parallel()
	for name, met := range map[string]bool{"claimed with its task": true, "claimed later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seconds := 1; !endsByItsDeadline(t, seconds, met); seconds *= 2 { // a slow machine needs longer to claim it
				if seconds > 64 {
					t.Fatal("never claimed")
				}
			}
		})
	}
}

// endsByItsDeadline says whether there was the time to try.
func endsByItsDeadline(t *testing.T, seconds int, met bool) bool {
	t.Helper()
	w, rdb, refs := backlogOf(t, fmt.Sprintf("flow: f\ndeadline: %[1]ds\nsteps:\n  - {id: s, handler: h, budget: {attempts: 1, per_attempt: %[1]ds, total: %[1]ds}}\n", seconds), 1)
	w.cfg.Handlers = map[string]Handler{"h": func(ctx context.Context, _ flow.Inputs) (executor.Reply[json.RawMessage], error) {
		<-ctx.Done()
		return executor.Reply[json.RawMessage]{}, ctx.Err()
	}}
	time.Sleep(200 * time.Millisecond) // so that the run's deadline ends before the step's budget
	d := deliveryOf(t, w, refs[0])
	if met {
		d = metFor(t, rdb, d, w.cfg.Lease)
		if !runstate.MetBy(d.Met).Claimed() {
			return false
		}
	}
	j, _ := w.claim(t.Context(), d)
	if j == nil {
		return false
	}
	over := make(chan struct{})
	j.work = w.prepare(j)
	w.workOn(doorbell.NewStint(func() { close(over) }), j)
	<-over
	snap := snapOf(t, w, refs[0])
	if !snap.Finished || snap.Steps[0].Cause != runstate.CauseDeadline {
		t.Errorf("finished: %t, cause of the step: %v", snap.Finished, snap.Steps[0].Cause)
	}
	return true
}

// A worker that was held up between taking and beginning asks whether the claim is still its own.
func TestAClaimThatMayHaveEndedIsAskedForAgain(t *testing.T) {
	t.Parallel()
	w, rdb, refs := backlogOf(t, "flow: f\nsteps:\n  - {id: s, handler: h, budget: {attempts: 1, per_attempt: 1s, total: 1s}}\n", 2)
	w.cfg.Lease = time.Hour
	for i, ref := range refs {
		ended := i == 1
		lease := time.Hour
		if ended {
			lease = -time.Second
		}
		d := metFor(t, rdb, deliveryOf(t, w, ref), lease)
		d.MetAt = d.MetAt.Add(-w.cfg.Lease / 2)
		if ended { // another worker has it
			other := runstate.Task{Ref: ref, Generation: 1, Unit: runstate.Step(0), Token: newToken()}
			if c, _, err := w.store.Begin(t.Context(), other, runstate.Terms{Lease: time.Hour, MaxDeliveries: 3, WantInput: true}); err != nil || c.Word != runstate.Claimed {
				t.Fatal(c.Word, err)
			}
		}
		if j, _ := w.claim(t.Context(), d); (j == nil) != ended {
			t.Errorf("claimed by another: %t, but the worker takes it for its own: %t", ended, j != nil)
		}
	}
}

// metFor is the delivery as one that met its script when it was taken.
func metFor(t *testing.T, rdb *redis.Client, d doorbell.Delivery, lease time.Duration) doorbell.Delivery {
	t.Helper()
	var err error
	d.MetAt = time.Now()
	d.Met, err = meeting.Run(t.Context(), rdb, nil, append([]any{d.Queue, d.ID}, runstate.MeetArgs(newToken(), lease)...)...).Result()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func snapOf(t *testing.T, w *Worker, ref runstate.Ref) runstate.Snapshot {
	t.Helper()
	snap, ok, err := w.store.Read(t.Context(), ref)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return snap
}

// deliveryOf is the delivery of the run's first step.
func deliveryOf(t *testing.T, w *Worker, ref runstate.Ref) doorbell.Delivery {
	t.Helper()
	sha, err := executor.ParsePromptSHA(snapOf(t, w, ref).BundleSHA)
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := refOf(ref.Run)
	if err != nil {
		t.Fatal(err)
	}
	ring := payload{Run: run, SHA: sha, Generation: 1, Unit: runstate.Step(0)}.ring(nil)
	return doorbell.Delivery{Queue: ring.Queue, ID: ring.ID, Payload: ring.Payload}
}
