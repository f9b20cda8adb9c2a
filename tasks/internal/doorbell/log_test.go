package doorbell

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// D16: one damaged entry among the leases keeps asynq from taking any ring of the queue back. That must be seen.
func TestDamagedLeaseIsTold(t *testing.T) {
	rdb := backends[1].open(t)
	must(t, rdb.HSet(t.Context(), taskKey("q", "bad"), "state", "active", "msg", "\xff\xffcanary").Err())
	must(t, rdb.LPush(t.Context(), queueKey("q", "active"), "bad").Err())
	must(t, rdb.ZAdd(t.Context(), queueKey("q", "lease"), redis.Z{Score: float64(time.Now().Add(-time.Hour).Unix()), Member: "bad"}).Err())
	log := &memoryLog{}
	handler, _ := collect(handle)
	s := serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler, Concurrency: 1, Logger: log})
	eventually(t, func() bool { return len(log.all()) > 0 })
	s.Shutdown(context.Background())
	if diff := cmp.Diff([]string{"error: asynq cannot list lost deliveries: an entry may be damaged"}, log.all()); diff != "" {
		t.Error(diff)
	}
}

// What asynq says may quote anything; what is logged is ours.
func TestAsynqsWordsAreReplaced(t *testing.T) {
	for _, c := range []struct{ said, logged string }{
		{"Could not remove task id=x type=\"canary\" from ...: canary", "warn: asynq could not record a finished task, and will try again"},
		{"recoverer: could not retry lease expired task: canary", "warn: asynq could not take back a lost delivery"},
		{"recovering from panic. See the stack trace below for details:\ncanary", "warn: asynq recovered from a panic"},
		{"something new: canary", "warn: asynq reports something unusual"},
		{fmt.Sprintf("Dequeue error: UNKNOWN: redis eval error: %v", errParked), ""},
		{fmt.Sprintf("Dequeue error: UNKNOWN: redis eval error: %v", fmt.Errorf("%w: %w", errNotTaken, errors.New("canary"))), ""},
	} {
		log := &memoryLog{}
		l := asynqLog{log}
		l.Warn(c.said)
		l.Info(c.said)
		l.Debug(c.said)
		var want []string
		if c.logged != "" {
			want = []string{c.logged}
		}
		if diff := cmp.Diff(want, log.all()); diff != "" {
			t.Errorf("%q: %s", c.said, diff)
		}
	}
}

func TestErrorsBecomeFixedWords(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "none"},
		{context.Canceled, "canceled"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), "deadline exceeded"},
		{redis.ErrClosed, "client closed"},
		{errors.New("dial tcp 10.0.0.1:6379: canary"), "redis is out of reach"},
		{noScript{}, "redis answered NOSCRIPT"},
		{redisError("OOM command not allowed: canary"), "redis answered OOM"},
		{redisError("canary said something"), "redis answered an error"},
		{redisError("ERR canary"), "redis answered ERR"},
		{timeout{}, "redis did not answer in time"},
	} {
		if got := words(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

type timeout struct{}

func (timeout) Error() string   { return "canary" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }
