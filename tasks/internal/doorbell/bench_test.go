package doorbell

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
)

// Against the anchors of asynq alone, on the same machine in the same run:
//
//	go test ./tasks/internal/doorbell -run '^$' -bench .

// goroutines is how many submit at a time.
const goroutines = 16

func BenchmarkRing(b *testing.B) {
	for _, c := range []struct {
		name string
		ring func(b *testing.B, rs *redistest.Server) func(i int64) error
	}{
		{"bare asynq", bareEnqueue},
		{"one", func(b *testing.B, rs *redistest.Server) func(int64) error {
			r := NewRinger(rs.Client(b), RingerOptions{})
			return func(i int64) error { return r.Ring(b.Context(), ringOf(i)) }
		}},
		{"one coalesced", func(b *testing.B, rs *redistest.Server) func(int64) error {
			r := NewRinger(coalesced(b, rs.Client(b)), RingerOptions{})
			return func(i int64) error { return r.Ring(b.Context(), ringOf(i)) }
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			ring := c.ring(b, redistest.Start(b))
			var next atomic.Int64
			b.SetParallelism(goroutines)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := ring(next.Add(1)); err != nil {
						b.Error(err)
						return
					}
				}
			})
			perSecond(b, b.N)
		})
	}
	b.Run("100 at a time", func(b *testing.B) {
		r := NewRinger(redistest.Start(b).Client(b), RingerOptions{})
		rings := make([]Ring, 100)
		for i := range b.N {
			for j := range rings {
				rings[j] = ringOf(int64(i*len(rings) + j))
			}
			must(b, r.Ring(b.Context(), rings...))
		}
		perSecond(b, b.N*len(rings))
	})
}

func bareEnqueue(b *testing.B, rs *redistest.Server) func(i int64) error {
	client := asynq.NewClientFromRedisClient(rs.Client(b))
	return func(i int64) error {
		ring := ringOf(i)
		_, err := client.EnqueueContext(b.Context(), asynq.NewTask(taskType, ring.Payload), asynq.Queue(ring.Queue), asynq.TaskID(ring.ID))
		return err
	}
}

// BenchmarkDrain takes b.N no-op tasks from a full queue.
func BenchmarkDrain(b *testing.B) {
	b.Run("bare asynq/servers=1", func(b *testing.B) { drainBare(b, 1) })
	b.Run("bare asynq/servers=4", func(b *testing.B) { drainBare(b, 4) })
	for _, servers := range []int{1, 2, 4} {
		b.Run(fmt.Sprint("doorbell/servers=", servers), func(b *testing.B) {
			rdb := redistest.Start(b).Client(b)
			fill(b, rdb, b.N)
			done := countdown(b.N)
			s, err := NewServer(ServerConfig{
				Redis: rdb, Queues: map[string]int{"q": 1}, Servers: servers,
				Handler: func(context.Context, Delivery) Verdict { done.tick(); return Handled() },
			})
			must(b, err)
			b.ResetTimer()
			must(b, s.Start())
			<-done.reached
			perSecond(b, b.N)
			b.StopTimer()
			s.Shutdown(context.Background())
		})
	}
}

func drainBare(b *testing.B, servers int) {
	rs := redistest.Start(b)
	fill(b, rs.Client(b), b.N)
	done := countdown(b.N)
	all := make([]*asynq.Server, servers)
	for i := range all {
		all[i] = asynq.NewServerFromRedisClient(rs.Client(b), asynq.Config{
			Concurrency: defaultConcurrency / servers, Queues: map[string]int{"q": 1}, LogLevel: asynq.ErrorLevel,
		})
	}
	b.ResetTimer()
	for _, s := range all {
		must(b, s.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { done.tick(); return nil })))
	}
	<-done.reached
	perSecond(b, b.N)
	b.StopTimer()
	for _, s := range all {
		s.Shutdown()
	}
}

// BenchmarkHop is one step of a chain on an idle fleet: rung by the handler of the one before, or by another process.
func BenchmarkHop(b *testing.B) {
	for _, c := range []struct {
		name string
		poke bool
	}{{"rung by a worker", true}, {"rung by a producer", false}} {
		b.Run(c.name, func(b *testing.B) {
			rs := redistest.Start(b)
			arrived := make(chan time.Time, 1)
			s, err := NewServer(ServerConfig{
				Redis: rs.Client(b), Queues: map[string]int{"q": 1},
				Handler: func(context.Context, Delivery) Verdict { arrived <- time.Now(); return Handled() },
			})
			must(b, err)
			must(b, s.Start())
			defer s.Shutdown(context.Background())
			options := RingerOptions{}
			if c.poke {
				options.Poke = s.Poke
			}
			r := NewRinger(rs.Client(b), options)
			took := make([]time.Duration, b.N)
			for i := range b.N {
				waitIdle(s)
				start := time.Now()
				must(b, r.Ring(b.Context(), ringOf(int64(i))))
				took[i] = (<-arrived).Sub(start)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// BenchmarkIdle is what an idle worker costs Redis: commands and scripts a second, by Redis' own count.
func BenchmarkIdle(b *testing.B) {
	rdb := redistest.Start(b).Client(b)
	s, err := NewServer(ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: func(context.Context, Delivery) Verdict { return Handled() }})
	must(b, err)
	must(b, s.Start())
	defer s.Shutdown(context.Background())
	waitIdle(s)
	must(b, rdb.ConfigResetStat(b.Context()).Err())
	start := time.Now()
	time.Sleep(20 * time.Second)
	stats, err := rdb.Info(b.Context(), "commandstats").Result()
	must(b, err)
	took := time.Since(start).Seconds()
	var scripts, outside int
	for line := range strings.Lines(stats) {
		var calls int
		name, rest, _ := strings.Cut(line, ":")
		if _, err := fmt.Sscanf(rest, "calls=%d", &calls); err != nil {
			continue
		}
		switch name {
		case "cmdstat_evalsha", "cmdstat_eval":
			scripts += calls
			outside += calls
		case "cmdstat_blmove", "cmdstat_sadd", "cmdstat_zadd", "cmdstat_ping", "cmdstat_subscribe", "cmdstat_zrange", "cmdstat_zcard":
			outside += calls
		}
	}
	b.ReportMetric(float64(scripts)/took, "scripts/s")
	b.ReportMetric(float64(outside)/took, "commands/s")
}

// BenchmarkScripts calls a script from many goroutines.
func BenchmarkScripts(b *testing.B) {
	for _, callers := range []int{2, 4, 16, 64, 256} {
		for _, c := range []struct {
			name string
			open func(testing.TB, *redis.Client) redis.UniversalClient
		}{
			{"plain", func(_ testing.TB, rdb *redis.Client) redis.UniversalClient { return rdb }},
			{"coalesced", func(tb testing.TB, rdb *redis.Client) redis.UniversalClient { return coalesced(tb, rdb) }},
		} {
			b.Run(fmt.Sprintf("callers=%d/%s", callers, c.name), func(b *testing.B) {
				rdb := c.open(b, redistest.Start(b).Client(b))
				script := redis.NewScript(`return redis.call("INCRBY", KEYS[1], ARGV[1])`)
				must(b, script.Load(b.Context(), rdb).Err())
				b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := script.EvalSha(b.Context(), rdb, []string{"k"}, 1).Err(); err != nil {
							b.Error(err)
							return
						}
					}
				})
				perSecond(b, b.N)
			})
		}
	}
}

func coalesced(tb testing.TB, rdb redis.UniversalClient) redis.UniversalClient {
	tb.Helper()
	c, err := Coalesce(rdb)
	must(tb, err)
	return c
}

func ringOf(i int64) Ring {
	return Ring{Queue: "q", ID: fmt.Sprint("run:1:step:", i), Payload: make([]byte, 120)}
}

func fill(tb testing.TB, rdb redis.UniversalClient, n int) {
	tb.Helper()
	rings := make([]Ring, n)
	for i := range rings {
		rings[i] = ringOf(int64(i))
	}
	must(tb, NewRinger(rdb, RingerOptions{}).Ring(tb.Context(), rings...))
}

func perSecond(b *testing.B, n int) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "per-s")
}

// waitIdle waits until every server of s waits for work.
func waitIdle(s *Server) {
	for {
		s.yard.mu.Lock()
		idle := len(s.yard.idle)
		s.yard.mu.Unlock()
		if idle == len(s.takers) {
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// countdown closes reached at the n-th tick.
func countdown(n int) *counter {
	c := &counter{reached: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

type counter struct {
	left    atomic.Int64
	reached chan struct{}
}

func (c *counter) tick() {
	if c.left.Add(-1) == 0 {
		close(c.reached)
	}
}
