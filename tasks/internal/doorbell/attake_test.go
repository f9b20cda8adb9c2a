package doorbell

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// counting meets each ring by counting it, with a number of its own.
func counting(n *atomic.Int64) *AtTake {
	return &AtTake{
		Script: "return { ARGV[1], ARGV[2], ARGV[3], redis.call('INCR', 'fourfold:{' .. ARGV[1] .. '}:met') }",
		Args:   func() []any { return []any{n.Add(1)} },
	}
}

func TestEachRingIsMetOnceWhenItIsTaken(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		var numbers atomic.Int64
		handler, arrived := collect(handle)
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"a": 1, "b": 1}, Handler: handler, AtTake: counting(&numbers)})
		const n = 100
		rings := make([]Ring, 0, 2*n)
		for i := range n {
			rings = append(rings, Ring{Queue: "a", ID: fmt.Sprint("a", i)}, Ring{Queue: "b", ID: fmt.Sprint("b", i)})
		}
		must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), rings...))
		seen := map[any]bool{}
		for range 2 * n {
			d := <-arrived
			met, ok := d.Met.([]any)
			if !ok || len(met) != 4 || met[0] != d.Queue || met[1] != d.ID || seen[met[2]] {
				t.Errorf("%s of %s was met with %v", d.ID, d.Queue, d.Met)
				continue
			}
			seen[met[2]] = true
		}
		for _, queue := range []string{"a", "b"} {
			if got, err := rdb.Get(t.Context(), "fourfold:{"+queue+"}:met").Int(); err != nil || got != n {
				t.Errorf("queue %s: %d rings were met, %v; want %d", queue, got, err, n)
			}
		}
	})
}

func TestRingsAreMetByAServerThatForgotTheScript(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		var numbers atomic.Int64
		handler, arrived := collect(handle)
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler, AtTake: counting(&numbers)})
		r := NewRinger(rdb, RingerOptions{})
		for i := range 5 {
			must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: fmt.Sprint(i)}))
			if d := <-arrived; d.ID != fmt.Sprint(i) || d.Met == nil {
				t.Errorf("delivery %+v", d)
			}
			must(t, rdb.ScriptFlush(t.Context()).Err())
		}
	})
}

func TestARingWhoseMeetingFailsArrivesAllTheSame(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		must(t, rdb.Set(t.Context(), "fourfold:{q}:text", "no list", 0).Err())
		handler, arrived := collect(handle)
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler, AtTake: &AtTake{
			Script: "return redis.call('LPUSH', 'fourfold:{q}:text', 'x')", Args: func() []any { return nil },
		}})
		must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "1", Payload: []byte("ref")}))
		got := <-arrived
		if diff := cmp.Diff([]any{"1", "ref", nil}, []any{got.ID, string(got.Payload), got.Met}); diff != "" {
			t.Error(diff)
		}
	})
}
