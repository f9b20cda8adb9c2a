package redistest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
)

func TestServerAnswersOnItsOwnPort(t *testing.T) {
	a, b := redistest.Start(t), redistest.Start(t)
	ctx := t.Context()
	must(t, a.Client(t).Set(ctx, "k", "a", 0).Err())
	if err := b.Client(t).Get(ctx, "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the second server shares state with the first: got %v, want redis.Nil", err)
	}
}

func TestURLCarriesUserAndPassword(t *testing.T) {
	for name, s := range map[string]*redistest.Server{
		"password": redistest.Start(t, redistest.Password("s3cret")),
		"user":     redistest.Start(t, redistest.ACLUser("worker", "s3cret", "~k", "+set", "+ping")),
	} {
		o, err := redis.ParseURL(s.URL())
		must(t, err)
		rdb := redis.NewClient(o)
		defer rdb.Close()
		if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Admin(t).ConfigGet(t.Context(), "maxmemory").Err(); err != nil {
			t.Errorf("%s: admin: %v", name, err)
		}
	}
}

func TestUserIsHeldToTheRules(t *testing.T) {
	s := redistest.Start(t, redistest.ACLUser("worker", "s3cret", "~k", "+set"))
	if err := s.Client(t).Get(t.Context(), "k").Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
		t.Errorf("got %v, want NOPERM", err)
	}
}

func TestServerSpeaksTLS(t *testing.T) {
	s := redistest.Start(t, redistest.TLS())
	must(t, s.Client(t).Ping(t.Context()).Err())
	plain := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer plain.Close()
	if err := plain.Ping(t.Context()).Err(); err == nil {
		t.Error("the server also answers without TLS")
	}
}

func TestKilledServerComesBackWithWhatItKept(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []redistest.Option
		want    int64
	}{
		{"persistent", []redistest.Option{redistest.Persistent()}, 1},
		{"in memory", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := redistest.Start(t, c.options...)
			rdb := s.Client(t)
			must(t, rdb.Set(t.Context(), "k", "v", 0).Err())
			s.Kill()
			if conn, err := net.Dial("tcp", s.Addr); err == nil {
				conn.Close()
				t.Fatal("somebody still listens after Kill")
			}
			s.Restart()
			got, err := rdb.Exists(t.Context(), "k").Result()
			must(t, err)
			if got != c.want {
				t.Errorf("keys after the restart: got %d, want %d", got, c.want)
			}
		})
	}
}

func TestPausedServerAnswersLater(t *testing.T) {
	s := redistest.Start(t)
	o := s.Options()
	o.ReadTimeout, o.MaxRetries = -1, -1 // no time limit: only Cont can end the wait
	rdb := redis.NewClient(o)
	defer rdb.Close()
	must(t, rdb.Ping(t.Context()).Err())
	s.Pause()
	answer := make(chan error, 1)
	go func() { answer <- rdb.Ping(context.Background()).Err() }()
	select {
	case err := <-answer:
		t.Fatalf("a paused server answered: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	s.Cont()
	must(t, <-answer)
}

func TestClusterSpreadsKeysOverAllMasters(t *testing.T) {
	c := redistest.StartCluster(t, 3)
	rdb := c.Client(t)
	for i := range 100 {
		must(t, rdb.Set(t.Context(), fmt.Sprint("k", i), "v", 0).Err())
	}
	for _, node := range c.Nodes {
		n, err := node.Client(t).DBSize(t.Context()).Result()
		must(t, err)
		if n == 0 {
			t.Errorf("node %s holds no key of 100", node.Addr)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSuiteEndsWhatItStarted(t *testing.T) {
	var suite redistest.Suite
	s := redistest.Start(&suite)
	rdb := s.Client(&suite)
	must(t, rdb.Ping(t.Context()).Err())
	suite.Close()
	if conn, err := net.Dial("tcp", s.Addr); err == nil {
		conn.Close()
		t.Error("the server still listens after Close")
	}
	if err := rdb.Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("the client: got %v, want ErrClosed", err)
	}
}

func TestSentinelPromotesTheReplica(t *testing.T) {
	s := redistest.StartSentinel(t)
	rdb := s.Client(t)
	must(t, rdb.Set(t.Context(), "k", "v", 0).Err())
	s.Failover(t)
	for { // the client asks the sentinel again only when it has seen its connection break
		if err := rdb.Set(t.Context(), "k", "w", 0).Err(); err == nil {
			break
		}
	}
	if got, err := s.Replica.Client(t).Get(t.Context(), "k").Result(); err != nil || got != "w" {
		t.Errorf("the promoted server holds %q, %v", got, err)
	}
}

func TestUsersOfAFileAreHeldToTheirRules(t *testing.T) {
	file := t.TempDir() + "/users.acl"
	must(t, os.WriteFile(file, []byte("user default on nopass -@all +ping\nuser bob on >builder ~k +get\n"), 0o600))
	s := redistest.Start(t, redistest.Users(file, "+set"))
	bob := s.As(t, "bob", "builder")
	must(t, bob.Set(t.Context(), "k", "v", 0).Err())
	if err := bob.Get(t.Context(), "other").Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
		t.Errorf("got %v, want NOPERM", err)
	}
	must(t, s.Admin(t).FlushAll(t.Context()).Err())
}
