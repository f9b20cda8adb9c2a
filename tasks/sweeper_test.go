package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/content"
	"fourfold/flow"
	"fourfold/internal/redistest"
	"fourfold/tasks/internal/doorbell"
	"fourfold/tasks/internal/runstate"
)

// backlog is a queue with many open runs, and a worker without a doorbell.
func backlog(t *testing.T, runs int) (w *Worker, rdb *redis.Client, refs []runstate.Ref) {
	t.Helper()
	return backlogOf(t, "flow: f\nsteps:\n  - {id: s, handler: h, budget: {attempts: 1, per_attempt: 1s, total: 1s}}\n", runs)
}

func backlogOf(t *testing.T, yaml string, runs int) (w *Worker, rdb *redis.Client, refs []runstate.Ref) {
	t.Helper()
	rdb = redistest.Start(t).Client(t)
	client, err := NewClient(ClientConfig{Redis: rdb})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	b, err := flow.Load(fstest.MapFS{"f.yaml": {Data: []byte(yaml)}}, "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for range runs {
		run, err := client.Submit(t.Context(), Submission{Bundle: b, Input: content.New(json.RawMessage("1"))})
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, run.ref())
	}
	cfg := WorkerConfig{Redis: rdb, Queues: map[string]int{DefaultQueue: 1}}
	if err := cfg.fill(); err != nil {
		t.Fatal(err)
	}
	scripts, err := doorbell.NewScriptClient(rdb)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = scripts.Close() })
	w = newWorker(cfg, scripts)
	w.relay = &relay{w.store, doorbell.NewRinger(scripts, doorbell.RingerOptions{})}
	return w, rdb, refs
}

// sweepOnce sweeps as if the sweeper had looked just before, however long the test took to come here.
func sweepOnce(t *testing.T, w *Worker) {
	t.Helper()
	now, err := w.store.Now(t.Context(), DefaultQueue)
	if err != nil {
		t.Fatal(err)
	}
	w.sweeper.contact[DefaultQueue] = contact{since: now.Add(-time.Hour), last: now}
	if lead, err := w.sweeper.sweep(t.Context(), DefaultQueue); err != nil || !lead {
		t.Fatal(lead, err)
	}
}

// Ten thousand steps of one worker must not wait for two hundred a second to be rung for.
func TestOneSweepRingsForAllThatADeadWorkerHeld(t *testing.T) {
	t.Parallel()
	const held = 3*sweepMost + 7
	w, rdb, refs := backlog(t, held)
	for i, ref := range refs {
		task := runstate.Task{Ref: ref, Generation: 1, Unit: runstate.Unit{Item: runstate.Whole}, Token: fmt.Sprint("dead", i)}
		c, _, err := w.store.Begin(t.Context(), task, runstate.Terms{Lease: time.Millisecond, MaxDeliveries: 5, WantInput: true})
		if err != nil || c.Word != runstate.Claimed {
			t.Fatal(c.Word, err)
		}
	}
	time.Sleep(5 * time.Millisecond) // the leases end, by Redis' clock
	sweepOnce(t, w)
	q, err := readQueue(t.Context(), w.store, rdb, DefaultQueue)
	if err != nil {
		t.Fatal(err)
	}
	if q.Pending != 2*held || q.Outbox != 0 || q.Active != 0 { // nobody took the first rings
		t.Errorf("%d pending, %d in the outbox, %d claims left; want %d, 0, 0", q.Pending, q.Outbox, q.Active, 2*held)
	}
}

// A long queue must not keep them waiting all over; the others keep their order.
func TestStepsOfADeadWorkerAreTheNextToBeTaken(t *testing.T) {
	t.Parallel()
	w, rdb, refs := backlog(t, 4)
	dead := runstate.Task{Ref: refs[2], Generation: 1, Unit: runstate.Unit{Item: runstate.Whole}, Token: "dead"}
	c, _, err := w.store.Begin(t.Context(), dead, runstate.Terms{Lease: time.Millisecond, MaxDeliveries: 5, WantInput: true})
	if err != nil || c.Word != runstate.Claimed {
		t.Fatal(c.Word, err)
	}
	time.Sleep(5 * time.Millisecond) // the lease ends, by Redis' clock
	sweepOnce(t, w)
	got, err := rdb.LRange(t.Context(), "asynq:{default}:pending", 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(got) // the first is taken last
	want := []string{refs[2].Run + ":1:0:1"}
	for _, ref := range refs { // nobody took the first rings
		want = append(want, ref.Run+":1:0:0")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in the order of their turns (-want +got):\n%s", diff)
	}
}

func TestOneSweepVisitsALargeBacklog(t *testing.T) {
	t.Parallel()
	const open = 5*sweepMost + 3
	w, rdb, _ := backlog(t, open)
	ctx := context.Background()
	due, err := rdb.ZRange(ctx, "fourfold:{default}:due", 0, -1).Result()
	if err != nil || len(due) != open {
		t.Fatal(len(due), err)
	}
	members := make([]redis.Z, len(due))
	for i, run := range due {
		members[i].Member = run
	}
	if err := rdb.ZAdd(ctx, "fourfold:{default}:due", members...).Err(); err != nil { // all are due since 1970
		t.Fatal(err)
	}
	before := connections(t, rdb)
	sweepOnce(t, w)
	left, err := rdb.ZCount(ctx, "fourfold:{default}:due", "-inf", "1").Result()
	if err != nil || left != 0 {
		t.Errorf("%d of %d runs were not looked at, %v", left, open, err)
	}
	if n := connections(t, rdb) - before; n > sweepAtOnce { // each costs Redis more than a visit
		t.Errorf("it made %d connections", n)
	}
}

// connections is how many have been made to a server.
func connections(t *testing.T, rdb *redis.Client) (n int) {
	t.Helper()
	stats, err := rdb.InfoMap(t.Context(), "stats").Result()
	if err == nil {
		n, err = strconv.Atoi(stats["Stats"]["total_connections_received"])
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A fleet of a thousand asks seldom, and those with short leases often enough to notice an outage in which claims end.
func TestWhoDoesNotLeadAsksSeldom(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{
		12 * time.Second: sweepHold / 2, time.Hour: sweepHold / 2, 8 * time.Second: 2 * time.Second, time.Second: sweepEvery,
	} {
		s := newSweeper(&Worker{cfg: WorkerConfig{Lease: lease}})
		if got := s.askEvery(); got != want {
			t.Errorf("lease %v: asks every %v, want %v", lease, got, want)
		}
	}
}

// A ring that has just been taken, after a long wait, is its worker's to claim; one whose worker has said nothing for long is
// rung again.
func TestARingThatWasJustTakenIsNoOrphan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		taken time.Duration // ago
		want  int
	}{"just taken": {0, 0}, "taken long ago": {orphanedAfter + 2*time.Second, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, refs := backlog(t, 1)
			w.sweeper.live = func(_ context.Context, _ string, ids []string) (map[string]doorbell.Presence, error) {
				lease := time.Now().Add(30*time.Second - c.taken)
				return map[string]doorbell.Presence{ids[0]: {State: doorbell.Active, Lease: lease}}, nil
			}
			unit := runstate.Idle{Entry: runstate.Entry{Ref: refs[0], Generation: 1, Unit: runstate.Unit{Item: runstate.Whole}}, Since: time.Hour}
			if got, err := w.sweeper.redriveLost(t.Context(), DefaultQueue, []runstate.Idle{unit}); err != nil || got != c.want {
				t.Errorf("rung again: %d, %v; want %d", got, err, c.want)
			}
		})
	}
}
