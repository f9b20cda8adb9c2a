package doorbell

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
)

// D15: the user of a URL is used, and the rights that deploy/k8s gives a worker suffice, listening included.
func TestWorkersRightsSuffice(t *testing.T) {
	rs := redistest.Start(t, redistest.Users("../../../deploy/k8s/components/redis/users.acl"))
	options, err := redis.ParseURL("redis://worker:dev-worker@" + rs.Addr)
	must(t, err)
	rdb := redis.NewClient(options)
	defer rdb.Close()
	log := &memoryLog{}
	handler, arrived := collect(handle)
	s := serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler, Logger: log, patience: forever})
	r := NewRinger(rdb, RingerOptions{})
	for i := range 5 {
		waitIdle(s)
		must(t, r.Ring(t.Context(), ringOf(int64(i))))
		<-arrived
	}
	s.Shutdown(context.Background())
	if diff := cmp.Diff([]string(nil), log.all()); diff != "" {
		t.Error(diff)
	}
}

func TestServerSpeaksTLS(t *testing.T) {
	rdb := redistest.Start(t, redistest.TLS(), redistest.Password("s3cret")).Client(t)
	handler, arrived := collect(handle)
	serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler})
	fill(t, rdb, 3)
	for range 3 {
		<-arrived
	}
}

func TestServerStartsBeforeRedisAndOutlivesIt(t *testing.T) {
	rs := redistest.Start(t, redistest.Persistent())
	rdb := rs.Client(t)
	rs.Kill()
	handler, arrived := collect(handle)
	serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler})
	r := NewRinger(rdb, RingerOptions{})
	for i := range 3 {
		rs.Restart()
		must(t, r.Ring(t.Context(), ringOf(int64(i))))
		<-arrived
		rs.Kill()
	}
	rs.Restart()
	eventually(t, func() bool { return sizes(t, rdb, "q").Active == 0 })
}

func TestServerFollowsAFailover(t *testing.T) {
	sentinel := redistest.StartSentinel(t)
	rdb := sentinel.Client(t)
	handler, arrived := collect(handle)
	s := serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler})
	r := NewRinger(rdb, RingerOptions{})
	must(t, r.Ring(t.Context(), ringOf(0)))
	<-arrived
	waitIdle(s)
	sentinel.Failover(t)
	eventually(t, func() bool { return r.Ring(t.Context(), ringOf(1)) == nil })
	for d := range arrived { // what was done just before may come again from the replica
		if d.ID == ringOf(1).ID {
			break
		}
	}
	eventually(t, func() bool { return sizes(t, rdb, "q").Active == 0 })
}

// A Redis that stalls for longer than a command's time limit hands out what it was asked for, once, when it goes on.
func TestStalledRedisStrandsNothing(t *testing.T) {
	t.Parallel()
	rs := redistest.Start(t)
	rdb := rs.Client(t)
	var runs atomic.Int64
	s := serve(t, ServerConfig{
		Redis: rdb, Queues: map[string]int{"q": 1}, Servers: 4,
		Handler: func(context.Context, Delivery) Verdict { runs.Add(1); return Handled() },
	})
	r := NewRinger(rdb, RingerOptions{})
	must(t, r.Ring(t.Context(), ringOf(9))) // so that all connections are there
	eventually(t, func() bool { return runs.Load() == 1 })
	waitIdle(s)
	rs.Pause()
	rung := make(chan error, 1)
	go func() { rung <- r.Ring(context.Background(), ringOf(0), ringOf(1), ringOf(2)) }()
	time.Sleep(steady.readTimeout + 2*defaultPatience.listening) // by now servers have looked, whether or not they were woken
	rs.Cont()
	must(t, <-rung)
	eventually(t, func() bool { left := sizes(t, rdb, "q"); return left.Pending+left.Active == 0 })
	if got := runs.Load(); got < 4 {
		t.Errorf("deliveries: got %d, want 4", got)
	}
}

func TestServerGoesOnAfterFlushes(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		handler, arrived := collect(handle)
		s := serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"a": 1, "b": 1}, Handler: handler, Servers: 2, patience: forever})
		r := NewRinger(rdb, RingerOptions{})
		each := func(do func(context.Context, *redis.Client) error) {
			if cluster, ok := rdb.(*redis.ClusterClient); ok {
				must(t, cluster.ForEachMaster(t.Context(), do))
				return
			}
			must(t, do(t.Context(), rdb.(*redis.Client)))
		}
		for i := range 6 {
			waitIdle(s)
			each(func(ctx context.Context, node *redis.Client) error { return node.FlushAll(ctx).Err() })
			if i%2 == 1 {
				each(func(ctx context.Context, node *redis.Client) error { return node.ScriptFlush(ctx).Err() })
			}
			must(t, r.Ring(t.Context(), Ring{Queue: []string{"a", "b"}[i%2], ID: "x"}))
			<-arrived
		}
	})
}

// Whoever puts a task into the queue wakes a waiting server: another producer, asynq's own move of a delayed task, an
// operator who ends a pause.
func TestEverySourceOfWorkIsHeard(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		handler, arrived := collect(handle)
		s := serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler, Servers: 2, patience: forever})
		client, inspector := asynq.NewClientFromRedisClient(rdb), asynq.NewInspectorFromRedisClient(rdb)
		enqueue := func(options ...asynq.Option) {
			_, err := client.EnqueueContext(t.Context(), asynq.NewTask(taskType, nil), append(options, asynq.Queue("q"))...)
			must(t, err)
		}
		waitIdle(s)
		enqueue()
		<-arrived
		waitIdle(s)
		enqueue(asynq.ProcessIn(time.Millisecond))
		<-arrived
		must(t, inspector.PauseQueue("q"))
		enqueue()
		waitIdle(s)
		must(t, inspector.UnpauseQueue("q"))
		<-arrived
	})
}

func TestFleetDeliversEachRingOnce(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		const n = 500
		handler, arrived := collect(handle)
		for range 4 {
			serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"a": 5, "b": 1, "c": 1}, Handler: handler, Concurrency: 20, Servers: 2, patience: forever})
		}
		var wg sync.WaitGroup
		for g := range 5 {
			wg.Go(func() {
				r := NewRinger(rdb, RingerOptions{})
				for i := range n / 5 {
					if err := r.Ring(t.Context(), Ring{Queue: []string{"a", "b", "c"}[i%3], ID: fmt.Sprint(g, ":", i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		seen := map[string]int{}
		for range n {
			seen[(<-arrived).ID]++
		}
		if len(seen) != n {
			t.Errorf("different rings among %d deliveries: got %d", n, len(seen))
		}
	})
}

func TestBadConfigurationIsRefused(t *testing.T) {
	rdb := backends[0].open(t)
	handler, _ := collect(handle)
	for name, config := range map[string]ServerConfig{
		"no Redis":         {Queues: map[string]int{"q": 1}, Handler: handler},
		"no queues":        {Redis: rdb, Handler: handler},
		"no handler":       {Redis: rdb, Queues: map[string]int{"q": 1}},
		"nameless queue":   {Redis: rdb, Queues: map[string]int{"": 1}, Handler: handler},
		"braces in a name": {Redis: rdb, Queues: map[string]int{"q{1}": 1}, Handler: handler},
		"no weight":        {Redis: rdb, Queues: map[string]int{"q": 0}, Handler: handler},
	} {
		if _, err := NewServer(config); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestConcurrencyIsSharedEvenly(t *testing.T) {
	for _, c := range []struct {
		concurrency, servers int
		want                 []int
	}{{0, 0, []int{50, 50}}, {10, 0, []int{10}}, {17, 0, []int{9, 8}}, {3, 4, []int{1, 1, 1}}, {7, 2, []int{4, 3}}} {
		config := ServerConfig{Concurrency: c.concurrency, Servers: c.servers}
		config.fill()
		var got []int
		for i := range config.Servers {
			got = append(got, share(config.Concurrency, config.Servers, i))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d over %d: %s", c.concurrency, c.servers, diff)
		}
	}
}
