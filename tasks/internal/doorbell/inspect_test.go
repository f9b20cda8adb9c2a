package doorbell

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// What is read here from the keys is what asynq's own inspector says: if a new version lays them out otherwise, this fails.
func TestKeysAreThoseOfThePinnedAsynq(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		client, inspector := asynq.NewClientFromRedisClient(rdb), asynq.NewInspectorFromRedisClient(rdb)
		release, started := make(chan struct{}), make(chan struct{})
		var once bool
		s := serve(t, ServerConfig{
			Redis: rdb, Queues: map[string]int{"q": 1}, Concurrency: 1,
			Handler: func(_ context.Context, d Delivery) Verdict {
				switch {
				case d.ID == "archived":
					return Reject("no good")
				case d.ID == "retry":
					return Again(time.Hour)
				case !once:
					once = true
					close(started)
				}
				<-release
				return Handled()
			},
		})
		defer s.Shutdown(context.Background())
		defer close(release)
		enqueue := func(id string, options ...asynq.Option) {
			_, err := client.EnqueueContext(t.Context(), asynq.NewTask(taskType, nil), append(options, asynq.Queue("q"), asynq.TaskID(id))...)
			must(t, err)
		}
		enqueue("archived")
		enqueue("retry")
		eventually(t, func() bool { return sizes(t, rdb, "q").Archived+sizes(t, rdb, "q").Retry == 2 })
		enqueue("active")
		<-started
		enqueue("pending-1")
		enqueue("pending-2")
		enqueue("scheduled", asynq.ProcessIn(time.Hour))
		must(t, inspector.PauseQueue("q"))

		info, err := inspector.GetQueueInfo("q")
		must(t, err)
		got := sizes(t, rdb, "q")
		if got.OldestPending <= 0 || got.OldestPending > time.Minute {
			t.Errorf("oldest pending: got %v", got.OldestPending)
		}
		got.OldestPending = 0
		want := Sizes{
			Pending: int64(info.Pending), Active: int64(info.Active), Scheduled: int64(info.Scheduled), Retry: int64(info.Retry),
			Archived: int64(info.Archived), Completed: int64(info.Completed), Paused: info.Paused,
		}
		if diff := cmp.Diff(want, got); diff != "" || want.Pending != 2 || want.Active != 1 || !want.Paused {
			t.Errorf("inspector: %+v; read here: %s", want, diff)
		}

		ids := []string{"archived", "retry", "active", "pending-1", "scheduled", "never"}
		found, err := Live(t.Context(), rdb, "q", ids)
		must(t, err)
		for _, id := range ids[:5] {
			task, err := inspector.GetTaskInfo("q", id)
			must(t, err)
			if got := found[id].State.String(); got != task.State.String() {
				t.Errorf("%s: got %s, inspector says %s", id, got, task.State)
			}
		}
		live := map[string]bool{}
		for id, p := range found {
			live[id] = p.Live(time.Now())
		}
		if diff := cmp.Diff(map[string]bool{"archived": false, "retry": true, "active": true, "pending-1": true, "scheduled": true, "never": false}, live); diff != "" {
			t.Error(diff)
		}
		names, err := QueueNames(t.Context(), rdb)
		must(t, err)
		if diff := cmp.Diff([]string{"q"}, names); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUnknownQueueIsEmpty(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		if diff := cmp.Diff(Sizes{}, sizes(t, rdb, "never")); diff != "" {
			t.Error(diff)
		}
		found, err := Live(t.Context(), rdb, "never", nil)
		must(t, err)
		if len(found) != 0 {
			t.Errorf("got %v", found)
		}
	})
}

// D9: an ID without its task. It is in nobody's way, and the numbers show it.
func TestDanglingIDStopsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		must(t, rdb.LPush(t.Context(), queueKey("q", "pending"), "ghost-1", "ghost-2").Err())
		fill(t, rdb, 3)
		handler, arrived := collect(handle)
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler, Concurrency: 1, patience: forever})
		for range 3 {
			<-arrived
		}
		eventually(t, func() bool { return sizes(t, rdb, "q").Active == 2 })
		for _, id := range []string{"ghost-1", "ghost-2"} { // as time does it
			must(t, rdb.ZAdd(t.Context(), queueKey("q", "lease"), redis.Z{Score: float64(time.Now().Add(-lostAfter - time.Second).Unix()), Member: id}).Err())
		}
		if got := sizes(t, rdb, "q").Stranded; got != 2 {
			t.Errorf("stranded: got %d, want 2", got)
		}
		must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "later"}))
		<-arrived
	})
}

// D10: active, and nobody holds it.
func TestActiveRingWithoutLeaseIsNotLive(t *testing.T) {
	rdb := backends[1].open(t)
	fill(t, rdb, 1)
	strand(t, rdb, "q", time.Now().Add(time.Minute))
	id := ringOf(0).ID
	if p := presence(t, rdb, "q", id); !p.Live(time.Now()) || p.Live(time.Now().Add(2*time.Minute)) {
		t.Errorf("leased for a minute: got %+v, want live until then", p)
	}
	must(t, rdb.ZRem(t.Context(), queueKey("q", "lease"), id).Err())
	if p := presence(t, rdb, "q", id); p.State != Active || p.Live(time.Now()) {
		t.Errorf("without a lease: got %+v, want active and not live", p)
	}
	if got := sizes(t, rdb, "q").Stranded; got != 1 {
		t.Errorf("stranded: got %d, want 1", got)
	}
}

// D12: rings given back by stopping workers are at the head of the queue and have forgotten since when they wait.
func TestAgeOfAQueueLooksPastRingsWithoutOne(t *testing.T) {
	rdb := backends[1].open(t)
	fill(t, rdb, 3)
	for i := range 3 {
		at := time.Now().Add(-time.Duration(i+1) * time.Hour).UnixNano()
		must(t, rdb.HSet(t.Context(), taskKey("q", ringOf(int64(i)).ID), "pending_since", at).Err())
	}
	for i := range 4 {
		must(t, rdb.RPush(t.Context(), queueKey("q", "pending"), fmt.Sprint("given-back-", i)).Err())
	}
	if got := sizes(t, rdb, "q").OldestPending.Round(time.Minute); got != 3*time.Hour {
		t.Errorf("oldest pending: got %v, want 3h", got)
	}
}

func TestStatesPrint(t *testing.T) {
	for s, want := range map[State]string{Absent: "absent", Active: "active", Completed: "completed", Unknown: "unknown", 99: "unknown"} {
		if got := s.String(); got != want {
			t.Errorf("%d: got %q, want %q", s, got, want)
		}
	}
	if got := parseState("aggregating"); got != Unknown {
		t.Errorf("aggregating: got %v, want unknown", got)
	}
}

// asynq's lease is as long as Unattended takes it to be.
func TestARingThatWasJustTakenIsAttended(t *testing.T) {
	rdb := backends[1].open(t)
	started, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	serve(t, ServerConfig{
		Redis: rdb, Queues: map[string]int{"q": 1},
		Handler: func(context.Context, Delivery) Verdict { close(started); <-release; return Handled() },
	})
	began := time.Now()
	must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
	<-started
	p := presence(t, rdb, "q", "x")
	took := time.Since(began)
	if ahead := p.Lease.Sub(began); ahead < asynqLease-longestAwait-2*time.Second || ahead > asynqLease+took+time.Second {
		t.Errorf("asynq's lease is %v ahead, want about %v", ahead, asynqLease)
	}
	if got := p.Unattended(began.Add(took)); p.State != Active || got > took+longestAwait+2*time.Second {
		t.Errorf("%v, unattended for %v, want active and at most %v", p.State, got, took)
	}
	if got := (Presence{State: Pending}).Unattended(began); got != 0 {
		t.Errorf("a pending ring is unattended for %v", got)
	}
}
