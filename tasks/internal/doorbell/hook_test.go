package doorbell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
)

// If this fails, the pinned asynq takes tasks in another way: parseAsk must learn it. Until then servers poll.
func TestTakingScriptIsThatOfThePinnedAsynq(t *testing.T) {
	rdb := backends[0].open(t)
	seen := make(chan []any, 1000)
	rdb.AddHook(spy{func(cmd redis.Cmder) {
		if cmd.Name() == "evalsha" {
			seen <- append(cmd.Args(), time.Now())
		}
	}})
	before := time.Now()
	s := asynq.NewServerFromRedisClient(rdb, asynq.Config{
		Queues: map[string]int{"the-queue": 1}, LogLevel: asynq.FatalLevel, TaskCheckInterval: time.Millisecond, DelayedTaskCheckInterval: time.Millisecond,
	})
	must(t, s.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil })))
	defer s.Shutdown()
	asks, others := 0, 0
	for asks < 3 || others < 3 {
		args := <-seen
		at := args[len(args)-1].(time.Time)
		a, ok := parseAsk(redis.NewCmd(t.Context(), args[:len(args)-1]...))
		if !ok {
			others++
			continue
		}
		asks++
		if a.queue != "the-queue" {
			t.Errorf("queue: got %q", a.queue)
		}
		if end := time.Unix(a.args[askedLease].(int64), 0); end.Before(before.Add(29*time.Second)) || end.After(at.Add(30*time.Second)) {
			t.Errorf("the lease ends at %v, want 30 s after %v to %v", end, before, at)
		}
	}
}

// If this fails, the pinned asynq records what is done in another way: isDone must learn it. Until then each record takes a
// round trip of its own.
func TestRecordingScriptIsThatOfThePinnedAsynq(t *testing.T) {
	rdb := backends[0].open(t)
	seen := make(chan redis.Cmder, 10_000)
	rdb.AddHook(spy{func(cmd redis.Cmder) {
		if cmd.Name() == "evalsha" {
			seen <- redis.NewCmd(context.Background(), cmd.Args()...)
		}
	}})
	must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "1"}))
	mux := asynq.NewServeMux()
	mux.HandleFunc(taskType, func(context.Context, *asynq.Task) error { return nil })
	s := asynq.NewServerFromRedisClient(rdb, asynq.Config{Queues: map[string]int{"q": 1}, LogLevel: asynq.FatalLevel, TaskCheckInterval: time.Millisecond})
	must(t, s.Start(mux))
	eventually(t, func() bool { return presence(t, rdb, "q", "1").State == Absent })
	s.Shutdown()
	close(seen)
	records := 0
	for cmd := range seen {
		if isDone(cmd) {
			records++
		}
	}
	if records != 1 {
		t.Errorf("%d scripts were taken for the record of one task", records)
	}
}

func TestOnlyTheTakingScriptIsRecognised(t *testing.T) {
	good := askArgs("q")
	change := func(i int, to any) []any {
		args := append([]any(nil), good...)
		args[i] = to
		return args
	}
	if a, ok := parseAsk(redis.NewCmd(t.Context(), good...)); !ok || a.queue != "q" {
		t.Fatalf("got %q, %v: want q, true", a.queue, ok)
	}
	for name, args := range map[string][]any{
		"another command":  change(0, "fcall"),
		"fewer keys":       change(2, 3),
		"another list":     change(3, "asynq:{q}:waiting"),
		"another prefix":   change(3, "jobs:{q}:pending"),
		"two queues":       change(4, "asynq:{r}:paused"),
		"order of keys":    change(5, "asynq:{q}:lease"),
		"keys of no text":  change(6, 1),
		"lease of no time": change(7, "soon"),
		"more arguments":   append(change(0, "evalsha"), "x"),
	} {
		if _, ok := parseAsk(redis.NewCmd(t.Context(), args...)); ok {
			t.Errorf("%s: recognised", name)
		}
	}
}

func TestRepeatedAskAsksForAFullLease(t *testing.T) {
	asked := time.Now()
	a := ask{queue: "q", asked: asked, args: askArgs("q")}
	a.args[askedLease] = asked.Add(30 * time.Second).Unix()
	got := a.again(asked.Add(4 * time.Second))[askedLease].(int64)
	if want := asked.Add(34 * time.Second).Unix(); got != want {
		t.Errorf("lease: got %d, want %d", got, want)
	}
	if a.args[askedLease] != asked.Add(30*time.Second).Unix() {
		t.Error("the first ask was changed")
	}
}

// A version of asynq that takes tasks in another way is slower, not broken.
func TestServerPollsWhereTheScriptIsNotRecognised(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		handler, arrived := collect(handle)
		s := serve(t, ServerConfig{
			Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler,
			recognise: func(redis.Cmder) (ask, bool) { return ask{}, false },
		})
		must(t, NewRinger(rdb, RingerOptions{Poke: s.Poke}).Ring(t.Context(), Ring{Queue: "q", ID: "1"}, Ring{Queue: "q", ID: "2"}))
		<-arrived
		<-arrived
	})
}

// D1: a command whose context was canceled is sent all the same; one whose time is over is not.
func TestCanceledContextDoesNotStopAsynqsCommands(t *testing.T) {
	rdb := backends[1].open(t)
	scripts := redistest.Start(t).Client(t)
	rdb.AddHook(&serverHook{recognise: parseAsk, scripts: scripts})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, rdb.Set(canceled, "k", "v", 0).Err())
	_, err := rdb.Pipelined(canceled, func(p redis.Pipeliner) error { return p.Set(canceled, "k", "v", 0).Err() })
	must(t, err)
	script := redis.NewScript("return 1")
	must(t, script.Load(t.Context(), scripts).Err())
	must(t, script.EvalSha(canceled, rdb, nil).Err())
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if ctx := uncanceled(late); !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("a context whose time is over: got %v", ctx.Err())
	}
}

// D1: asynq could not record a finished task, tries again five seconds later with a context that it has canceled, and that works.
func TestFinishedTaskIsRecordedByAsynqsSecondTry(t *testing.T) {
	t.Parallel()
	rdb := backends[1].open(t)
	var runs, failures atomic.Int64
	s, err := NewServer(ServerConfig{
		Redis: rdb, Queues: map[string]int{"q": 1}, Concurrency: 1,
		Handler: func(context.Context, Delivery) Verdict { runs.Add(1); return Handled() },
	})
	must(t, err)
	s.keeper.rdb.AddHook(failing{func(cmd redis.Cmder) error {
		if args := cmd.Args(); cmd.Name() == "evalsha" && args[3] == queueKey("q", "active") && args[5] == taskKey("q", "x") && failures.Add(1) == 1 {
			return io.EOF
		}
		return nil
	}})
	must(t, s.Start())
	t.Cleanup(func() { s.Shutdown(context.Background()) })
	must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
	eventually(t, func() bool { return failures.Load() == 2 && sizes(t, rdb, "q").Active == 0 })
	if got := presence(t, rdb, "q", "x").State; got != Absent || runs.Load() != 1 {
		t.Errorf("the ring is %v after %d runs, want absent after 1", got, runs.Load())
	}
}

// D2: a lost answer strands one task, since the command that took it is not sent again.
func TestTakingIsSentOnce(t *testing.T) {
	single, cluster := redistest.Start(t), cluster()
	for _, c := range []struct {
		name string
		open func(dial func(context.Context, string, string) (net.Conn, error)) redis.UniversalClient
	}{
		{"redis", func(dial func(context.Context, string, string) (net.Conn, error)) redis.UniversalClient {
			o := single.Options()
			o.Dialer = dial
			return redis.NewClient(o)
		}},
		{"cluster", func(dial func(context.Context, string, string) (net.Conn, error)) redis.UniversalClient {
			o := cluster.Options()
			o.Dialer = dial
			return redis.NewClusterClient(o)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wire := &lossyWire{}
			rdb := c.open(wire.dial)
			defer rdb.Close()
			must(t, rdb.Ping(t.Context()).Err())

			plain := redis.NewCmd(t.Context(), askArgs("q")...)
			if err := rdb.Process(t.Context(), plain); err == nil || wire.sent.Swap(0) < 2 {
				t.Fatal("an ordinary command was not sent again: this test shows nothing")
			}
			taking, err := clone(rdb, taking(1))
			must(t, err)
			defer taking.Close()
			k := newTaker(taking, nil, forever, 1, 1, silent{})
			if _, err := k.one(t.Context(), askArgs("q")); err == nil || wire.sent.Swap(0) != 1 {
				t.Errorf("one: error %v, or sent more than once", err)
			}
			if _, err := k.several(t.Context(), askArgs("q"), 4); err == nil || wire.sent.Swap(0) != 1 {
				t.Errorf("several: error %v, or sent more than once", err)
			}
		})
	}
}

// lossyWire delivers what takes tasks and loses the answers.
type lossyWire struct{ sent atomic.Int64 }

func (w *lossyWire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return &lossyConn{Conn: conn, wire: w}, err
}

type lossyConn struct {
	net.Conn
	wire *lossyWire
	mu   sync.Mutex
	lost bool
}

func (c *lossyConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("}:pending")) {
		c.wire.sent.Add(1)
		c.mu.Lock()
		c.lost = true
		c.mu.Unlock()
	}
	return c.Conn.Write(b)
}

func (c *lossyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

// spy sees every command.
type spy struct{ see func(redis.Cmder) }

func (spy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s spy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { s.see(cmd); return next(ctx, cmd) }
}

func (s spy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			s.see(cmd)
		}
		return next(ctx, cmds)
	}
}

// failing answers instead of Redis where it has an error.
type failing struct{ fail func(redis.Cmder) error }

func (failing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f failing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := f.fail(cmd); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

func (f failing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := f.fail(cmd); err != nil { // then it fails for all of them
				for _, cmd := range cmds {
					cmd.SetErr(err)
				}
				return err
			}
		}
		return next(ctx, cmds)
	}
}
