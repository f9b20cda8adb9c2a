package doorbell

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func TestDrainingServerTakesNothingNew(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		started, release := make(chan struct{}, 10), make(chan struct{})
		s := serve(t, ServerConfig{
			Redis: rdb, Queues: map[string]int{"q": 1}, Concurrency: 8,
			Handler: func(context.Context, Delivery) Verdict { started <- struct{}{}; <-release; return Handled() },
		})
		r := NewRinger(rdb, RingerOptions{Poke: s.Poke})
		must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "1"}, Ring{Queue: "q", ID: "2"}))
		<-started
		<-started
		s.Drain()
		must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "3"}))
		if got := s.Running(); got != 2 {
			t.Errorf("running while draining: got %d, want 2", got)
		}
		close(release)
		got := s.Shutdown(context.Background())
		if diff := cmp.Diff(Result{Finished: 2}, got); diff != "" {
			t.Error(diff)
		}
		if got := presence(t, rdb, "q", "3").State; got != Pending {
			t.Errorf("the ring of after the drain is %v, want pending", got)
		}
	})
}

// The redelivery of a ring must not find its first handler still at work.
func TestRingIsGivenBackOnlyWhenItsHandlerHasEnded(t *testing.T) {
	rdb := backends[1].open(t)
	started, seen := make(chan struct{}), make(chan string, 1)
	s := serve(t, ServerConfig{
		Redis: rdb, Queues: map[string]int{"q": 1}, Concurrency: 1, Drain: time.Millisecond,
		Handler: func(ctx context.Context, _ Delivery) Verdict {
			close(started)
			<-ctx.Done()
			seen <- fmt.Sprint(presence(t, rdb, "q", "x").State, ", ", errors.Is(context.Cause(ctx), ErrStopping))
			return Again(0)
		},
	})
	r := NewRinger(rdb, RingerOptions{})
	must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
	<-started
	must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "y"}))
	if diff := cmp.Diff(Result{Requeued: 1}, s.Shutdown(context.Background())); diff != "" {
		t.Error(diff)
	}
	if got, want := <-seen, "active, true"; got != want {
		t.Errorf("when its context ended: got %q, want %q", got, want)
	}
	queue, err := rdb.LRange(t.Context(), queueKey("q", "pending"), 0, -1).Result()
	must(t, err)
	if diff := cmp.Diff([]string{"y", "x"}, queue); diff != "" { // the head is on the right
		t.Error(diff)
	}
}

// D3: asynq cannot end a goroutine; it is counted, and its ring goes to another worker.
func TestHandlerThatDoesNotEndIsAbandoned(t *testing.T) {
	rdb := backends[1].open(t)
	started, release := make(chan struct{}), make(chan struct{})
	s := serve(t, ServerConfig{
		Redis: rdb, Queues: map[string]int{"q": 1}, Concurrency: 1, Drain: time.Millisecond,
		Handler: func(context.Context, Delivery) Verdict { close(started); <-release; return Handled() },
	})
	must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
	<-started
	if diff := cmp.Diff(Result{Abandoned: 1}, s.Shutdown(context.Background())); diff != "" {
		t.Error(diff)
	}
	if got := presence(t, rdb, "q", "x").State; got != Pending {
		t.Errorf("the ring is %v, want pending", got)
	}
	if got := s.Running(); got != 1 {
		t.Errorf("running: got %d, want 1", got)
	}
	close(release)
	eventually(t, func() bool { return s.Running() == 0 })
}

func TestSecondSignalEndsTheDrain(t *testing.T) {
	rdb := backends[1].open(t)
	started := make(chan struct{})
	s := serve(t, ServerConfig{
		Redis: rdb, Queues: map[string]int{"q": 1}, Concurrency: 1, Drain: time.Hour,
		Handler: func(ctx context.Context, _ Delivery) Verdict { close(started); <-ctx.Done(); return Again(0) },
	})
	must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
	<-started
	now, signal := context.WithCancel(context.Background())
	signal()
	if diff := cmp.Diff(Result{Requeued: 1}, s.Shutdown(now)); diff != "" {
		t.Error(diff)
	}
	if got := presence(t, rdb, "q", "x").State; got != Retry {
		t.Errorf("the ring is %v, want retry", got)
	}
}

func TestShutdownUnderLoadLosesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		const n = 3000
		fill(t, rdb, n)
		var handled atomic.Int64
		enough := make(chan struct{})
		s := serve(t, ServerConfig{
			Redis: rdb, Queues: map[string]int{"q": 1}, Concurrency: 40, Servers: 4,
			Handler: func(context.Context, Delivery) Verdict {
				if handled.Add(1) == n/10 {
					close(enough)
				}
				return Handled()
			},
		})
		<-enough
		s.Shutdown(context.Background())
		left := sizes(t, rdb, "q")
		if left.Active != 0 || left.Retry != 0 || left.Pending+handled.Load() != n {
			t.Errorf("%d handled, left %+v: want no other than pending, %d in all", handled.Load(), left, n)
		}
	})
}

func TestShutdownMayBeCalledTwiceAndWithoutStart(t *testing.T) {
	rdb := backends[0].open(t)
	s, err := NewServer(ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: func(context.Context, Delivery) Verdict { return Handled() }})
	must(t, err)
	for range 2 {
		if diff := cmp.Diff(Result{}, s.Shutdown(context.Background())); diff != "" {
			t.Error(diff)
		}
	}
}
