package runstate_test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"fourfold/tasks/internal/runstate"
)

// trips counts the round trips of a client.
type trips struct{ n int }

func (t *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (t *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { t.n++; return next(ctx, cmd) }
}

func (t *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { t.n++; return next(ctx, cmds) }
}

// Scores are set by the node that has the queue. Another's clock may be seconds from it.
func TestTheTimeOfAQueueIsThatOfTheNodeThatHasIt(t *testing.T) {
	early, late := miniredis.RunT(t), miniredis.RunT(t)
	early.SetTime(time.UnixMilli(1_700_000_000_123))
	late.SetTime(time.UnixMilli(1_700_000_060_456))
	rdb := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{
			{Start: 0, End: 8191, Nodes: []redis.ClusterNode{{Addr: early.Addr()}}},
			{Start: 8192, End: 16383, Nodes: []redis.ClusterNode{{Addr: late.Addr()}}},
		}, nil
	}})
	t.Cleanup(func() { _ = rdb.Close() })
	s, ctx := runstate.NewStore(rdb), context.Background()
	if err := s.Load(ctx); err != nil {
		t.Fatal(err)
	}
	asked := &trips{}
	rdb.AddHook(asked)
	const queues = 20
	times := map[time.Time]bool{}
	for i := range queues {
		queue := "q" + strconv.Itoa(i)
		node, err := rdb.MasterForKey(ctx, "fourfold:{"+queue+"}:due")
		if err != nil {
			t.Fatal(err)
		}
		want, err := node.Time(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		times[want] = true
		if now, err := s.Now(ctx, queue); err != nil || !now.Equal(want) {
			t.Errorf("%s: now %v, %v; want %v", queue, now, err, want)
		}
		if lead, now, err := s.Lead(ctx, queue, "a", time.Minute); err != nil || !lead || !now.Equal(want) {
			t.Errorf("%s: lead %v, %v, %v; want %v", queue, lead, now, err, want)
		}
	}
	if len(times) != 2 || asked.n != 2*queues {
		t.Errorf("%d clocks, %d round trips for %d questions", len(times), asked.n, 2*queues)
	}
}

func TestOneLeadsAQueueUntilItsHoldEnds(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s, ctx := runstate.NewStore(rdb), context.Background()
		for _, c := range []struct {
			token string
			want  bool
		}{{"a", true}, {"b", false}, {"a", true}} {
			if lead, now, err := s.Lead(ctx, "q", c.token, time.Hour); err != nil || lead != c.want || now.IsZero() {
				t.Errorf("%s leads: %v, %v, %v", c.token, lead, now, err)
			}
		}
		if left, err := rdb.PTTL(ctx, "fourfold:{q}:sweeper").Result(); err != nil || left <= 0 || left > time.Hour {
			t.Errorf("the lock ends in %v, %v", left, err)
		}
		if err := rdb.Del(ctx, "fourfold:{q}:sweeper").Err(); err != nil {
			t.Fatal(err)
		}
		if lead, _, err := s.Lead(ctx, "q", "b", time.Hour); err != nil || !lead {
			t.Errorf("the next one leads: %v, %v", lead, err)
		}
	})
}
