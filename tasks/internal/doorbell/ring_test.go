package doorbell

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
	"fourfold/tasks/internal/lua"
)

func TestRingArrivesWhole(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		handler, arrived := collect(handle)
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"default": 1, "bulk": 1}, Handler: handler})
		must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{
			Queue: "bulk", ID: "r:1:a:0", Payload: []byte("\x00ref\xff"), Headers: map[string]string{"traceparent": "00-1-2-01"},
		}))
		got := <-arrived
		want := Delivery{Queue: "bulk", ID: "r:1:a:0", Payload: []byte("\x00ref\xff"), Headers: map[string]string{"traceparent": "00-1-2-01"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestManyRingsArriveOnceEach(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		const n = 600
		handler, arrived := collect(handle)
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"a": 2, "b": 1}, Handler: handler})
		var rings []Ring
		for i := range n {
			rings = append(rings, Ring{Queue: []string{"a", "b"}[i%2], ID: fmt.Sprint("r:1:s", i, ":0")})
		}
		must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), rings...))
		seen := map[string]int{}
		for range n {
			seen[(<-arrived).ID]++
		}
		for _, ring := range rings {
			if seen[ring.ID] != 1 {
				t.Errorf("%s arrived %d times", ring.ID, seen[ring.ID])
			}
		}
	})
}

func TestARingThatGoesAheadIsTakenFirst(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		ids := []string{"r:1:first:0", "r:1:second:0", "r:1:third:0", "r:1:a-long-one-of-which-a-form-is-made:0"}
		r := NewRinger(rdb, RingerOptions{})
		for _, id := range ids[:2] {
			must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: id}))
		}
		for range 2 { // the second time it is there
			must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: ids[2], Ahead: true}))
		}
		must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: ids[0], Ahead: true})) // is there, and stays where it is
		must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: ids[3], Payload: make([]byte, 50), Ahead: true}))
		handler, arrived := collect(handle)
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler, Concurrency: 1})
		for _, want := range []string{ids[3], ids[2], ids[0], ids[1]} {
			if d := <-arrived; d.ID != want {
				t.Errorf("%s was taken; want %s", d.ID, want)
			}
		}
	})
}

// D2: go-redis sends an enqueue again when its answer was lost, and the second try finds the ID taken.
func TestRingThatIsThereCountsAsDelivered(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		r := NewRinger(rdb, RingerOptions{})
		ring := Ring{Queue: "q", ID: "r:1:a:0"}
		for range 3 {
			must(t, r.Ring(t.Context(), ring))
		}
		must(t, r.Ring(t.Context(), ring, ring, Ring{Queue: "q", ID: "r:1:b:0"}))
		if got := sizes(t, rdb, "q").Pending; got != 2 {
			t.Errorf("pending: got %d, want 2", got)
		}
	})
}

// A finished ID may be rung again: nothing is retained.
func TestFinishedIDIsFreeAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		handler, arrived := collect(handle)
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler})
		r := NewRinger(rdb, RingerOptions{})
		for range 3 {
			must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "same"}))
			<-arrived
			eventually(t, func() bool { return presence(t, rdb, "q", "same").State == Absent })
		}
	})
}

// D5, D7, D13: what asynq is asked for.
func TestRingAsksForRetriesAndTimeoutAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		timeout, want time.Duration
	}{{0, 24 * time.Hour}, {time.Hour, time.Hour}} {
		rdb := backends[1].open(t)
		must(t, NewRinger(rdb, RingerOptions{Timeout: c.timeout}).Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
		info, err := asynq.NewInspectorFromRedisClient(rdb).GetTaskInfo("q", "x")
		must(t, err)
		got := []any{info.MaxRetry, info.Timeout, info.Deadline.IsZero(), info.Retention, info.Group}
		if diff := cmp.Diff([]any{maxRetry, c.want, true, time.Duration(0), ""}, got); diff != "" {
			t.Error("max retry, timeout, no deadline, retention, group:", diff)
		}
		keys, err := rdb.Keys(t.Context(), "asynq:{q}:unique:*").Result()
		must(t, err)
		if len(keys) != 0 {
			t.Errorf("uniqueness locks: %v", keys)
		}
	}
}

func TestInvalidRingsAreNamedAndTheOthersDelivered(t *testing.T) {
	rdb := backends[0].open(t)
	err := NewRinger(rdb, RingerOptions{}).Ring(t.Context(),
		Ring{Queue: "", ID: "a"}, Ring{Queue: "q", ID: "b"}, Ring{Queue: "q", ID: ""}, Ring{Queue: "q{1}", ID: "d"})
	var failed *RingError
	if !errors.As(err, &failed) || !errors.Is(err, ErrInvalidRing) {
		t.Fatalf("got %v, want a RingError of ErrInvalidRing", err)
	}
	if diff := cmp.Diff([]int{0, 2, 3}, failed.Failed); diff != "" {
		t.Error(diff)
	}
	if got, want := err.Error(), "doorbell: 3 of 4 rings failed: invalid ring"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if presence(t, rdb, "q", "b").State != Pending {
		t.Error("the valid ring was not delivered")
	}
}

// A full Redis refuses some; the error says which, in fixed words, and does not quote what was rung.
func TestRefusedRingsAreNamedWithoutTheirContent(t *testing.T) {
	rs := redistest.Start(t)
	rdb := rs.Client(t)
	r := NewRinger(rdb, RingerOptions{})
	must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "first"}))
	must(t, rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
	err := r.Ring(t.Context(), Ring{Queue: "q", ID: "first"}, Ring{Queue: "q", ID: "second", Payload: []byte("canary")})
	var failed *RingError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, want a RingError", err)
	}
	if got, want := err.Error(), "doorbell: 1 of 2 rings failed: redis answered OOM"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff([]int{1}, failed.Failed); diff != "" { // the first is there already, and needs no memory
		t.Error(diff)
	}
	rs.Kill()
	if got, want := fmt.Sprint(r.Ring(t.Context(), Ring{Queue: "q", ID: "third"})), "doorbell: 1 of 1 rings failed: redis is out of reach"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// If this fails, the pinned asynq enqueues in another way: encode must learn it. Until then a submit rings after it has made
// its run.
func TestAPostFromWithinAnotherScriptIsARing(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		handler, arrived := collect(handle)
		r := NewRinger(rdb, RingerOptions{})
		script, err := r.Poster(t.Context())
		must(t, err)
		keys, args, err := r.Post(t.Context(), Ring{Queue: "q", ID: "7", Payload: []byte("ref")})
		must(t, err)
		within := redis.NewScript(lua.Function("post", script) + "return post(KEYS, ARGV)")
		var names []string
		for _, key := range keys {
			names = append(names, key.(string))
		}
		for _, want := range []int64{1, 0} { // the second finds it there
			if got, err := within.Run(t.Context(), rdb, names, args...).Int64(); err != nil || got != want {
				t.Errorf("answer %d, %v; want %d", got, err, want)
			}
		}
		r.Announce(t.Context(), "q")
		if names, err := QueueNames(t.Context(), rdb); err != nil || !cmp.Equal(names, []string{"q"}) {
			t.Errorf("queues %v, %v", names, err)
		}
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler})
		if got := <-arrived; got.ID != "7" || string(got.Payload) != "ref" {
			t.Errorf("delivery %+v", got)
		}
		if _, _, err := r.Post(t.Context(), Ring{Queue: "q"}); !errors.Is(err, ErrInvalidRing) {
			t.Errorf("without an ID: %v", err)
		}
	})
}

// A server that was restarted knows no scripts; the ring is delivered all the same.
func TestRingIsDeliveredToAServerThatForgotTheScript(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		r := NewRinger(rdb, RingerOptions{})
		must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "0"}))
		forget := func() { must(t, rdb.ScriptFlush(t.Context()).Err()) }
		forget()
		must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "1"}))
		forget()
		must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "2"}, Ring{Queue: "q", ID: "3"}))
		if got := sizes(t, rdb, "q").Pending; got != 4 {
			t.Errorf("pending: got %d, want 4", got)
		}
	})
}

// D14: asynq's own client announces a queue once in its life.
func TestFlushedQueueNameIsAnnouncedAgain(t *testing.T) {
	rdb := backends[0].open(t)
	r := NewRinger(rdb, RingerOptions{})
	must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "0"}))
	must(t, rdb.FlushAll(t.Context()).Err())
	r.announced["q"] = time.Now().Add(-announceEvery) // as long ago as that
	must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "1"}))
	names, err := QueueNames(t.Context(), rdb)
	must(t, err)
	if diff := cmp.Diff([]string{"q"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestPokeIsToldTheQueueOfEachDeliveredRing(t *testing.T) {
	rdb := backends[0].open(t)
	var told []string
	r := NewRinger(rdb, RingerOptions{Poke: func(queue string) { told = append(told, queue) }})
	_ = r.Ring(t.Context(), Ring{Queue: "a", ID: "1"}, Ring{Queue: "b"}, Ring{Queue: "c", ID: "1"})
	if diff := cmp.Diff([]string{"a", "c"}, told); diff != "" {
		t.Error(diff)
	}
}

func TestManyGoroutinesRing(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		r := NewRinger(rdb, RingerOptions{})
		var wg sync.WaitGroup
		for g := range 20 {
			wg.Go(func() {
				for i := range 20 {
					if err := r.Ring(t.Context(), Ring{Queue: fmt.Sprint("q", i%3), ID: fmt.Sprint(g, ":", i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		var n int64
		for i := range 3 {
			n += sizes(t, rdb, fmt.Sprint("q", i)).Pending
		}
		if n != 400 {
			t.Errorf("pending: got %d, want 400", n)
		}
	})
}
