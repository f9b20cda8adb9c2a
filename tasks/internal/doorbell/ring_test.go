package doorbell

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func TestRingArrivesWhole(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		handler, arrived := collect(handle)
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"default": 1, "bulk": 1}, Handler: handler})
		before := time.Now().Truncate(time.Millisecond)
		must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{
			Queue: "bulk", ID: "r:1:a:0", Payload: []byte("\x00ref\xff"), Headers: map[string]string{"traceparent": "00-1-2-01"},
		}))
		got := <-arrived
		if got.Rung.Before(before) || got.Rung.After(time.Now()) {
			t.Errorf("rung at %v, want between %v and now", got.Rung, before)
		}
		got.Rung = time.Time{}
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
