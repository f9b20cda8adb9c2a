package doorbell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
)

func TestVerdictsBecomeStates(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		verdicts := map[string]Verdict{
			"handled": Handled(), "dropped": Drop(), "again": Again(time.Hour), "rejected": Reject("no such bundle"),
		}
		handler, arrived := collect(func(d Delivery) Verdict { return verdicts[d.ID] })
		serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler})
		r := NewRinger(rdb, RingerOptions{})
		for id := range verdicts {
			must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: id}))
		}
		for range verdicts {
			<-arrived
		}
		eventually(t, func() bool { return sizes(t, rdb, "q").Active == 0 })
		got := map[string]State{}
		for id := range verdicts {
			got[id] = presence(t, rdb, "q", id).State
		}
		want := map[string]State{"handled": Absent, "dropped": Absent, "again": Retry, "rejected": Archived}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		info, err := asynq.NewInspectorFromRedisClient(rdb).GetTaskInfo("q", "rejected")
		must(t, err)
		if want := "fourfold: no such bundle: skip retry for the task"; info.LastErr != want {
			t.Errorf("stored reason: got %q, want %q", info.LastErr, want)
		}
	})
}

// D5: neither "again" nor a forgotten verdict uses up retries.
func TestAgainSpendsNoRetry(t *testing.T) {
	rdb := backends[1].open(t)
	n := 0
	handler, arrived := collect(func(Delivery) Verdict {
		if n++; n < 3 {
			return Verdict{}
		}
		return Handled()
	})
	serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler, Concurrency: 1})
	must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
	for i := range 3 {
		if d := <-arrived; d.Retried != 0 {
			t.Errorf("delivery %d: retried %d, want 0", i+1, d.Retried)
		}
	}
}

func TestRejectionIsTold(t *testing.T) {
	rdb := backends[0].open(t)
	told := make(chan string, 2)
	serve(t, ServerConfig{
		Redis: rdb, Queues: map[string]int{"q": 1},
		Handler: func(context.Context, Delivery) Verdict { return Reject("Secret: " + "canary") },
		OnRejected: func(d Delivery, reason Reason) {
			told <- d.ID + " " + string(reason)
			panic("canary")
		},
	})
	r := NewRinger(rdb, RingerOptions{})
	must(t, r.Ring(t.Context(), Ring{Queue: "q", ID: "x"}, Ring{Queue: "q", ID: "y"}))
	got := map[string]bool{<-told: true, <-told: true}
	if diff := cmp.Diff(map[string]bool{"x rejected": true, "y rejected": true}, got); diff != "" {
		t.Error(diff)
	}
	eventually(t, func() bool { return sizes(t, rdb, "q").Archived == 2 })
}

// D4: a panic ends in our own recover, which keeps its type and not its value.
func TestPanicLeavesNoTraceOfItsValue(t *testing.T) {
	rdb := backends[1].open(t)
	log := &memoryLog{}
	s := serve(t, ServerConfig{
		Redis: rdb, Queues: map[string]int{"q": 1}, Logger: log,
		Handler: func(context.Context, Delivery) Verdict { panic(errors.New("canary")) },
	})
	must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
	eventually(t, func() bool { return presence(t, rdb, "q", "x").State == Retry })
	s.Shutdown(context.Background())
	want := []string{"error: handler panicked queue=q task=x type=*errors.errorString"} // again and again, if this test is slow
	if diff := cmp.Diff(want, slices.Compact(errorsOf(log))); diff != "" {
		t.Error(diff)
	}
	if keys := dump(t, rdb); strings.Contains(keys, "canary") || !strings.Contains(keys, "the handler panicked") {
		t.Errorf("what asynq stored holds the panic's value, or not our words:\n%s", keys)
	}
}

// D6: a task that nobody here knows waits for a worker that does, and ends in the archive with a reason.
func TestUnknownTaskTypeWaitsForAnotherWorker(t *testing.T) {
	rdb := backends[0].open(t)
	handler, arrived := collect(handle)
	serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler})
	client := asynq.NewClientFromRedisClient(rdb)
	for id, retries := range map[string]int{"patient": 5, "last": 0} {
		_, err := client.Enqueue(asynq.NewTask("other:type", []byte("canary")), asynq.Queue("q"), asynq.TaskID(id), asynq.MaxRetry(retries))
		must(t, err)
	}
	eventually(t, func() bool {
		return presence(t, rdb, "q", "patient").State == Retry && presence(t, rdb, "q", "last").State == Archived
	})
	info, err := asynq.NewInspectorFromRedisClient(rdb).GetTaskInfo("q", "patient")
	must(t, err)
	if got, want := fmt.Sprint(info.Retried, " ", info.LastErr), "1 fourfold: unknown task type"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(arrived) != 0 {
		t.Error("the handler was asked about a task that is not ours")
	}
}

func TestOnlyWhatWouldNeverEndUsesUpRetries(t *testing.T) {
	h := newHandling(ServerConfig{})
	for _, c := range []struct {
		err         error
		retried     int
		failure     bool
		atLeast, at time.Duration // of the delay
	}{
		{againError{0}, 0, false, 0, 0},
		{againError{time.Hour}, 9, false, time.Hour, time.Hour},
		{errPanicked, 0, true, time.Second / 2, time.Second},
		{errPanicked, 3, true, 4 * time.Second, 8 * time.Second},
		{errPanicked, 25, true, mostPanicDelay / 2, mostPanicDelay},
		{errUnknownType, 0, true, unknownTypeDelay, unknownTypeDelay},
		{asynq.ErrLeaseExpired, 0, false, lostDelay / 2, lostDelay},
		{context.Canceled, 24, false, lostDelay / 2, lostDelay},
		{context.DeadlineExceeded, 0, false, lostDelay / 2, lostDelay},
		{errors.New("anything"), 0, false, lostDelay / 2, lostDelay},
	} {
		if got := h.isFailure(c.err); got != c.failure {
			t.Errorf("isFailure(%v): got %v, want %v", c.err, got, c.failure)
		}
		if got := h.delay(c.retried, c.err, nil); got < c.atLeast || got > c.at {
			t.Errorf("delay(%d, %v): got %v, want %v to %v", c.retried, c.err, got, c.atLeast, c.at)
		}
	}
}

func TestReasonIsFixedWords(t *testing.T) {
	for in, want := range map[Reason]string{
		"bundle is gone": "bundle is gone", "over-64 " + Reason(strings.Repeat("x", 60)): "rejected",
		"": "rejected", "Customer text!": "rejected", "naïve": "rejected", "a\nb": "rejected",
	} {
		if got := in.text(); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// What a killed worker held comes back, with nothing counted against it.
func TestRingOfADeadWorkerComesBack(t *testing.T) {
	rdb := redistest.Start(t).Client(t)
	must(t, NewRinger(rdb, RingerOptions{}).Ring(t.Context(), Ring{Queue: "q", ID: "x"}))
	strand(t, rdb, "q", time.Now().Add(-time.Minute))
	handler, arrived := collect(handle)
	serve(t, ServerConfig{Redis: rdb, Queues: map[string]int{"q": 1}, Handler: handler})
	if d := <-arrived; d.ID != "x" || d.Retried != 0 {
		t.Errorf("got %q after %d retries, want x after none", d.ID, d.Retried)
	}
}

// strand takes the next ring as a worker does that then dies, with a lease that ends at the given time.
func strand(t *testing.T, rdb redis.UniversalClient, queue string, end time.Time) {
	t.Helper()
	id, err := rdb.RPopLPush(t.Context(), queueKey(queue, "pending"), queueKey(queue, "active")).Result()
	must(t, err)
	must(t, rdb.HSet(t.Context(), taskKey(queue, id), "state", "active").Err())
	must(t, rdb.ZAdd(t.Context(), queueKey(queue, "lease"), redis.Z{Score: float64(end.Unix()), Member: id}).Err())
}

// dump is all that Redis holds, as text.
func dump(t *testing.T, rdb redis.UniversalClient) string {
	t.Helper()
	keys, err := rdb.Keys(t.Context(), "*").Result()
	must(t, err)
	var text strings.Builder
	for _, key := range keys {
		kind, err := rdb.Type(t.Context(), key).Result()
		must(t, err)
		read := map[string]string{"hash": "hgetall", "list": "lrange", "zset": "zrange", "set": "smembers", "string": "get"}[kind]
		args := []any{read, key}
		if read == "lrange" || read == "zrange" {
			args = append(args, 0, -1)
		}
		value, err := rdb.Do(t.Context(), args...).Result()
		must(t, err)
		fmt.Fprintf(&text, "%s: %v\n", key, value)
	}
	return text.String()
}

// errorsOf returns the errors among the lines.
func errorsOf(l *memoryLog) []string {
	var lines []string
	for _, line := range l.all() {
		if strings.HasPrefix(line, "error:") {
			lines = append(lines, line)
		}
	}
	return lines
}
