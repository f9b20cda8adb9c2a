package tests

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/internal/redistest"
)

// What KEDA counts decides whether anybody works at all: at no moment of a run may it be nothing, whatever becomes of the
// workers, and when all is done it must be nothing again.
func TestTheScalerCountsWhatIsOpenFromNothingToNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "dev")
	server := redistest.Start(t, redistest.Users(users))
	f.on(server)
	rdb := server.Admin(t)
	soon := map[string]any{"lease": "2s"} // of a dead worker's claims
	const (
		runs    = 5
		endless = "latency: 1h\n"
		limited = "rules: [{step: ask, calls: [{do: rate_limit, retry_after: 10m}]}]\n"
	)
	flow := filepath.Join(t.TempDir(), "flow.yaml")
	writeFile(t, flow, "flow: open\nsteps:\n  - {id: ask, prompt: ask.tmpl, budget: {attempts: 9, per_attempt: 1h, total: 2h}}\n"+
		"  - {id: after, needs: [ask], prompt: ask.tmpl, budget: {attempts: 1, per_attempt: 1h, total: 1h}}\n")
	writeFile(t, filepath.Join(filepath.Dir(flow), "ask.tmpl"), "Say something.")
	input := filepath.Join(filepath.Dir(flow), "input.json")
	writeFile(t, input, "{}")
	stays := func(when string) {
		t.Helper()
		if counts := f.counted(); sum(counts) != runs {
			t.Errorf("%s: %d runs are open, the scaler counts %v", when, runs, counts)
		}
	}

	if n := f.open(); n != 0 {
		t.Errorf("before the first run the scaler counts %d", n)
	}
	var open []string
	for range runs {
		open = append(open, f.enqueue("run", flow, "--input", input).Run)
	}
	stays("without a worker")
	f.configure(soon, endless)
	first := f.start()
	f.awaitOnly("calls in flight", "active", runs)
	stays("with calls in flight")
	first.kill()
	stays("after the worker was killed in the middle of its calls")

	f.configure(soon, limited)
	second := f.start()
	f.await("all is parked", func(map[string]int) bool { // in the outbox it also was when the dead worker's claims had ended
		parked, err := rdb.ZCount(t.Context(), "fourfold:{default}:outbox", inAMinute(), "+inf").Result()
		return err == nil && parked == runs
	})
	f.stop(second)
	stays("with all steps parked and no worker")
	if c := f.counted(); c["outbox"] != runs {
		t.Errorf("the scaler counts %v, where the outbox alone keeps the work", c)
	}

	// As if ten minutes had passed.
	waiting, err := rdb.ZRange(t.Context(), "fourfold:{default}:outbox", 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range waiting {
		if err := rdb.ZAddXX(t.Context(), "fourfold:{default}:outbox", redis.Z{Member: member}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := rdb.Del(t.Context(), "fourfold:{limit:primary}:closed").Err(); err != nil {
		t.Fatal(err)
	}
	stays("with all steps due and no worker")

	f.configure(soon, endless)
	third := f.start()
	f.awaitOnly("calls in flight again", "active", runs)
	stays("with calls in flight again")
	third.kill()

	f.configure(soon)
	last := f.start()
	for _, run := range open {
		f.enqueue("wait", run)
	}
	f.awaitNothingOpen()
	f.stop(last)
	if n := f.open(); n != 0 {
		t.Errorf("when all is done the scaler counts %d", n)
	}
}

// inAMinute is a score of the outbox.
func inAMinute() string { return strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10) }

// A step that no worker of this version can do goes round and round, and keeps its fleet.
func TestTheScalerCountsWhatNobodyCanDoYet(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "dev")
	f.on(redistest.Start(t, redistest.Users(users)))
	flow := filepath.Join(t.TempDir(), "flow.yaml")
	writeFile(t, flow, "flow: newer\nsteps:\n  - {id: do, handler: of-a-newer-version, budget: {attempts: 1, per_attempt: 1m, total: 1m}}\n")
	input := filepath.Join(filepath.Dir(flow), "input.json")
	writeFile(t, input, "{}")
	p := f.start()
	f.enqueue("run", flow, "--input", input)
	f.await("given back", func(c map[string]int) bool { return c["outbox"]+c["retry"]+c["scheduled"] == 1 })
	f.stop(p)
	if n := f.open(); n != 1 {
		t.Errorf("one step waits for a worker that can do it, the scaler counts %v", f.counted())
	}
}

// A worker may die between taking a task and claiming its step: then asynq's list of active tasks alone has it.
func TestTheScalerCountsWhatADeadWorkerHadInHand(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "dev")
	server := redistest.Start(t, redistest.Users(users))
	f.on(server)
	f.enqueue("run", "examples/hello/flow.yaml", "--input", "examples/hello/input.json")
	takeAndDie(t, server.Admin(t))
	if c := f.counted(); c["taken"] != 1 || f.open() != 1 {
		t.Errorf("one step is in a dead worker's hand, the scaler counts %v", c)
	}
}

// takeAndDie does what asynq does when a worker takes a task, and then nothing more.
func takeAndDie(t *testing.T, rdb *redis.Client) {
	t.Helper()
	id, err := rdb.LMove(t.Context(), "asynq:{default}:pending", "asynq:{default}:active", "RIGHT", "LEFT").Result()
	if err == nil {
		err = rdb.HSet(t.Context(), "asynq:{default}:t:"+id, "state", "active").Err()
	}
	if err == nil {
		err = rdb.ZAdd(t.Context(), "asynq:{default}:lease", redis.Z{Member: id, Score: float64(time.Now().Add(30 * time.Second).Unix())}).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}
