package doorbell

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
)

// asynq hands on no task that it cannot decode, nor one whose deadline has passed (D7): neither may keep a place for ever.
func TestWhatNeverReachesTheHandlerKeepsNoPlace(t *testing.T) {
	rdb, ctx := backends[1].open(t), t.Context()
	const places = 2
	for i := range places {
		id := fmt.Sprint("damaged", i)
		must(t, rdb.HSet(ctx, taskKey("q", id), "msg", "\xff\xff", "state", "pending").Err())
		must(t, rdb.LPush(ctx, queueKey("q", "pending"), id).Err())
	}
	client := asynq.NewClientFromRedisClient(rdb)
	for range places {
		_, err := client.EnqueueContext(ctx, asynq.NewTask("other", nil), asynq.Queue("q"), asynq.Deadline(time.Now().Add(-time.Hour)))
		must(t, err)
	}
	handler, got := collect(handle)
	serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Concurrency: places, Handler: handler})
	must(t, NewRinger(rdb, RingerOptions{}).Ring(ctx, Ring{Queue: "q", ID: "x"}))
	if d := <-got; d.ID != "x" {
		t.Errorf("got %q", d.ID)
	}
}

// A place that is kept for nobody is free again in time, however many others come and go meanwhile.
func TestPlaceThatNobodyComesForIsFreeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(2)
		p.reserve() // for a task that asynq drops
		for range 10 {
			if got := p.left(); got != 1 {
				t.Fatalf("%d places left, want 1", got)
			}
			p.reserve()
			if got := p.left(); got != 0 {
				t.Fatalf("%d places left, want none", got)
			}
			p.occupy()
			time.Sleep(noShow / 11)
			p.free()
		}
		time.Sleep(noShow / 10)
		if got := p.left(); got != 2 {
			t.Errorf("%d places left, want 2", got)
		}
		p.reserve()
		time.Sleep(noShow)
		p.occupy() // later than any task comes
		if got := p.left(); got != 1 {
			t.Errorf("%d places left of a task that came late, want 1", got)
		}
	})
}

func TestPlacesAreAwaitedUntilOneIsFreeOrTheServerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := newPlaces(1), make(chan struct{})
		p.reserve()
		p.occupy()
		wait := func(end func(), want bool, after time.Duration) {
			t.Helper()
			began := time.Now()
			time.AfterFunc(time.Second, end)
			if got := p.await(stop); got != want || time.Since(began) != after {
				t.Errorf("got %t after %v, want %t after %v", got, time.Since(began), want, after)
			}
		}
		wait(func() {}, false, longestAwait)
		wait(p.free, true, time.Second)
		p.reserve()
		p.occupy()
		wait(func() { close(stop) }, false, time.Second)
	})
}
