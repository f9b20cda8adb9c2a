package doorbell

import (
	"context"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
)

// backend is a Redis to try something on.
type backend struct {
	name string
	open func(testing.TB) redis.UniversalClient
}

// backends are the in-memory stand-in, a real server, and a cluster of three masters.
var backends = []backend{
	{"miniredis", func(tb testing.TB) redis.UniversalClient {
		rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(tb).Addr()})
		tb.Cleanup(func() { rdb.Close() })
		return rdb
	}},
	{"redis", func(tb testing.TB) redis.UniversalClient { return redistest.Start(tb).Client(tb) }},
	{"cluster", func(tb testing.TB) redis.UniversalClient { return redistest.StartCluster(tb, 3).Client(tb) }},
}

// onEach runs the test on each backend.
func onEach(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) { test(t, b.open(t)) })
	}
}

// serve starts a server and shuts it down when the test ends.
func serve(t testing.TB, config ServerConfig) *Server {
	t.Helper()
	s, err := NewServer(config)
	must(t, err)
	must(t, s.Start())
	t.Cleanup(func() { s.Shutdown(context.Background()) })
	return s
}

// collect returns a handler that answers with verdict and hands each delivery on.
func collect(verdict func(Delivery) Verdict) (Handler, <-chan Delivery) {
	arrived := make(chan Delivery, 100_000)
	return func(_ context.Context, d Delivery) Verdict {
		v := verdict(d)
		arrived <- d
		return v
	}, arrived
}

func handle(Delivery) Verdict { return Handled() }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
