package doorbell

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(noLines{}) // go-redis tells each broken connection, which is what half of these tests are about
	defer suite.Close()
	m.Run()
}

var (
	suite   redistest.Suite
	cluster = sync.OnceValue(func() *redistest.Cluster { return redistest.StartCluster(&suite, 3) })
)

type noLines struct{}

func (noLines) Printf(context.Context, string, ...any) {}

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
	{"cluster", func(tb testing.TB) redis.UniversalClient {
		for _, node := range cluster().Nodes {
			must(tb, node.Client(tb).FlushAll(context.Background()).Err())
		}
		return cluster().Client(tb)
	}},
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

// memoryLog keeps what was logged, a line each: "warn: text name=value".
type memoryLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *memoryLog) Debug(msg string, kv ...any) { l.add("debug", msg, kv) }
func (l *memoryLog) Info(msg string, kv ...any)  { l.add("info", msg, kv) }
func (l *memoryLog) Warn(msg string, kv ...any)  { l.add("warn", msg, kv) }
func (l *memoryLog) Error(msg string, kv ...any) { l.add("error", msg, kv) }

func (l *memoryLog) add(level, msg string, kv []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := level + ": " + msg
	for i := 0; i+1 < len(kv); i += 2 {
		line += fmt.Sprintf(" %v=%v", kv[i], kv[i+1])
	}
	l.lines = append(l.lines, line)
}

func (l *memoryLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// without returns the lines with the named values cut off.
func (l *memoryLog) without(name string) []string {
	lines := l.all()
	for i, line := range lines {
		lines[i], _, _ = strings.Cut(line, " "+name+"=")
	}
	return lines
}

// eventually waits until something is so. It has no time limit of its own: the test's is the only one.
func eventually(tb testing.TB, so func() bool) {
	tb.Helper()
	for !so() {
		if tb.Context().Err() != nil {
			tb.Fatal("the test is over")
		}
		time.Sleep(time.Millisecond)
	}
}

func presence(tb testing.TB, rdb redis.UniversalClient, queue, id string) Presence {
	tb.Helper()
	found, err := Live(tb.Context(), rdb, queue, []string{id})
	must(tb, err)
	return found[id]
}

func sizes(tb testing.TB, rdb redis.UniversalClient, queue string) Sizes {
	tb.Helper()
	s, err := ReadSizes(tb.Context(), rdb, queue)
	must(tb, err)
	return s
}
