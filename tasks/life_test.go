package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/internal/redistest"
	"fourfold/provider"
	"fourfold/tasks"
)

func fine(context.Context, string, int) (string, error) { return "7", nil }

// hanging blocks the calls of a step until their contexts end, and says when one has begun and when it was cut.
type hanging struct{ begun, cut chan struct{} }

func hang(step string) (answer func(context.Context, string, int) (string, error), calls hanging) {
	calls = hanging{make(chan struct{}, 16), make(chan struct{}, 16)}
	return func(ctx context.Context, s string, _ int) (string, error) {
		if s != step {
			return "7", nil
		}
		calls.begun <- struct{}{}
		<-ctx.Done()
		calls.cut <- struct{}{}
		return "", ctx.Err()
	}, calls
}

// awaitCut fails the test when no call is cut.
func (h hanging) awaitCut(t *testing.T) {
	t.Helper()
	select {
	case <-h.cut:
	case <-time.After(patience):
		t.Fatal("the call goes on")
	}
}

func lifeCancelCutsCallsInFlightAndSpendsNoMore(t *testing.T, f *fleet) {
	answer, calls := hang("two")
	m := newModel(answer)
	f.worker(m, func(c *tasks.WorkerConfig) { c.Lease = time.Hour }) // heartbeats come too late: the message must tell
	run := f.submit(bundle(t, threeSteps("")), `1`)
	<-calls.begun
	for n := int64(0); n == 0; { // the worker listens
		var err error
		if n, err = f.rdb.PubSubNumPat(context.Background()).Result(); err != nil {
			t.Fatal(err)
		}
	}
	if finished, err := f.client.Cancel(context.Background(), run); err != nil || finished {
		t.Fatal(finished, err)
	}
	calls.awaitCut(t)
	s := f.wait(run)
	want := tasks.Counts{OK: 1, Failed: 2}
	if s.Outcome != executor.OutcomeFailed || s.Counts != want || s.Marker.Cause != tasks.CauseCanceled {
		t.Errorf("outcome %v, counts %+v, cause %v", s.Outcome, s.Counts, s.Marker.Cause)
	}
	if m.count("three") != 0 || m.count("two") != 1 {
		t.Errorf("calls after the cancel: %d", m.total())
	}
	if finished, err := f.client.Cancel(context.Background(), run); err != nil || !finished {
		t.Errorf("cancel of a finished run: %v %v", finished, err)
	}
}

// A worker that may not listen, or has lost the message, learns of the cancel with its next heartbeat.
func TestACancelReachesCallsByHeartbeatToo(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(users, []byte("user deaf on >deaf ~* &asynq:* +@all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t, redistest.Users(users))
	f := newFleetOf(t, server.As(t, "deaf", "deaf"), server.Admin(t))
	answer, calls := hang("two")
	f.worker(newModel(answer), func(c *tasks.WorkerConfig) { c.Lease = 1500 * time.Millisecond })
	run := f.submit(bundle(t, threeSteps("")), `1`)
	<-calls.begun
	if finished, err := f.client.Cancel(context.Background(), run); err != nil || finished {
		t.Fatal(finished, err)
	}
	if s := f.wait(run); s.Marker.Cause != tasks.CauseCanceled {
		t.Errorf("cause %v", s.Marker.Cause)
	}
	calls.awaitCut(t)
}

func lifeRerunRepaysNothingThatHasAValue(t *testing.T, f *fleet) {
	sick := true
	m := newModel(func(_ context.Context, step string, _ int) (string, error) {
		if step == "two" && sick {
			return "", sickness()
		}
		return "7", nil
	})
	f.worker(m, nil)
	run := f.submit(bundle(t, threeSteps("")), `1`)
	f.wait(run)
	failed, err := f.client.Failed(context.Background(), tasks.FailedFilter{Cause: tasks.CauseUpstream5xx, Since: time.Hour})
	if err != nil || len(failed) != 1 || failed[0] != run {
		t.Fatalf("failed runs: %v %v", failed, err)
	}
	sick = false
	if err := f.client.Rerun(context.Background(), run); err != nil {
		t.Fatal(err)
	}
	s := f.wait(run)
	if s.Outcome != executor.OutcomeOK || m.count("one") != 1 || m.count("three") != 1 {
		t.Errorf("outcome %v; calls of one %d, of three %d", s.Outcome, m.count("one"), m.count("three"))
	}
	if err := f.client.Rerun(context.Background(), run); !errors.Is(err, tasks.ErrNothingToRerun) {
		t.Errorf("second rerun: %v", err)
	}
	if failed, _ := f.client.Failed(context.Background(), tasks.FailedFilter{}); len(failed) != 0 {
		t.Errorf("still in the failed index: %v", failed)
	}
}

func lifeTheDeadlineEndsAStepInFlight(t *testing.T, f *fleet) {
	answer, calls := hang("one")
	yaml := "flow: brief\ndeadline: 2s\nsteps:\n" + strings.ReplaceAll(step("one", "")+step("two", "    needs: [one]\n"), budget, "per_attempt: 2s, total: 2s")
	run := f.submit(bundle(t, yaml), `1`)
	time.Sleep(500 * time.Millisecond) // so that the run's deadline ends before the step's budget
	f.worker(newModel(answer), nil)
	<-calls.begun
	calls.awaitCut(t)
	s := f.wait(run)
	if s.Outcome != executor.OutcomeFailed || s.Counts != (tasks.Counts{Failed: 2}) {
		t.Errorf("outcome %v, counts %+v", s.Outcome, s.Counts)
	}
	for _, st := range s.Steps {
		if st.Cause != tasks.CauseDeadline {
			t.Errorf("%s: %v", st.Step, st.Cause)
		}
	}
}

// The deadline of a run that nobody works on is for the sweeper.
func TestTheDeadlineEndsARunThatNobodyWorksOn(t *testing.T) {
	t.Parallel()
	f := realFleet(t)
	m := newModel(fine)
	run := f.submit(bundle(t, "flow: brief\ndeadline: 1s\nsteps:\n"+strings.ReplaceAll(step("one", ""), budget, "per_attempt: 1s, total: 1s")), `1`)
	ctx := context.Background()
	for _, key := range []string{"asynq:{default}:pending", "fourfold:{default}:outbox"} { // it is lost
		if err := f.rdb.Del(ctx, key).Err(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second) // the deadline
	f.worker(m, func(c *tasks.WorkerConfig) { c.Lease = time.Second })
	s := f.wait(run)
	if s.Marker.Cause != tasks.CauseDeadline || m.total() != 0 {
		t.Errorf("%v by %v, %d calls", s.Outcome, s.Marker.Cause, m.total())
	}
	f.quiet()
}

func lifeFailFastCancelsIndependentBranches(t *testing.T, f *fleet) {
	answer, calls := hang("slow")
	m := newModel(func(ctx context.Context, step string, n int) (string, error) {
		if step == "bad" {
			if n == 1 {
				<-calls.begun // the other branch is under way
			}
			return "", sickness()
		}
		return answer(ctx, step, n)
	})
	f.worker(m, nil)
	yaml := "flow: fast\nfail_fast: true\nsteps:\n" + step("bad", "") + step("slow", "") + step("after", "    needs: [slow]\n") +
		step("notify", "    needs: [{step: bad, mode: always}, {step: after, mode: always}]\n")
	s := f.wait(f.submit(bundle(t, yaml), `1`))
	got := map[string]tasks.Cause{}
	for _, st := range s.Steps {
		got[st.Step.String()] = st.Cause
	}
	want := map[string]tasks.Cause{"bad": tasks.CauseUpstream5xx, "slow": tasks.CauseCanceled, "after": tasks.CauseCanceled, "notify": tasks.CauseNone}
	if got["after"] == tasks.CauseDependency {
		want["after"] = tasks.CauseDependency
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if m.count("notify") != 1 {
		t.Errorf("the always step ran %d times", m.count("notify"))
	}
}

// Items in flight are cut as well, and those that wait never begin.
func lifeFailFastCutsItemsInFlight(t *testing.T, f *fleet) {
	answer, calls := hang("each")
	m := newModel(func(ctx context.Context, step string, n int) (string, error) {
		if step == "bad" {
			if n == 1 {
				<-calls.begun
				<-calls.begun
			}
			return "", sickness()
		}
		return answer(ctx, step, n)
	})
	f.worker(m, func(c *tasks.WorkerConfig) { c.Lease = 3 * time.Second })
	yaml := "flow: items\nfail_fast: true\nsteps:\n" + step("bad", "") +
		strings.Replace(step("each", "    for_each: input\n    max_in_flight: 2\n"), "p.tmpl", "item.tmpl", 1)
	yaml = strings.ReplaceAll(yaml, budget, "per_attempt: 500s, total: 1100s") // longer than the test's patience
	s := f.wait(f.submit(bundle(t, yaml), `[1,2,3,4]`))
	calls.awaitCut(t)
	calls.awaitCut(t)
	if s.Steps[1].Cause != tasks.CauseCanceled || m.count("each") != 2 {
		t.Errorf("cause %v, %d calls of items", s.Steps[1].Cause, m.count("each"))
	}
	f.quiet()
}

func lifeAKeyIsOneRunAndItsReuseAConflict(t *testing.T, f *fleet) {
	ctx := context.Background()
	b := bundle(t, threeSteps(""))
	submit := func(input string) (tasks.RunID, error) {
		return f.client.Submit(ctx, tasks.Submission{Bundle: b, Input: content.New(json.RawMessage(input)), Key: "order-1"})
	}
	first, err := submit(`1`)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := submit(`1`); err != nil || second != first {
		t.Errorf("same key again: %v %v", second, err)
	}
	var conflict *tasks.ConflictError
	if _, err := submit(`2`); !errors.As(err, &conflict) || conflict.Run != first {
		t.Errorf("other input: %v", err)
	}
	m := newModel(fine)
	f.worker(m, nil)
	f.wait(first)
	if again, err := submit(`1`); err != nil || again != first || m.total() != 3 {
		t.Errorf("same key when done: %v %v, calls %d", again, err, m.total())
	}
}

func lifeUndecodableTasksAreArchivedAndStopNothing(t *testing.T, f *fleet) {
	asynqClient := asynq.NewClientFromRedisClient(f.rdb)
	for _, garbage := range []string{"", "{", "1|default.x|y|1|0|0|", "2|x"} {
		if _, err := asynqClient.Enqueue(asynq.NewTask("fourfold:step", []byte(garbage)), asynq.Queue("default")); err != nil {
			t.Fatal(err)
		}
	}
	m := newModel(fine)
	f.worker(m, nil)
	if s := f.wait(f.submit(bundle(t, threeSteps("")), `1`)); s.Outcome != executor.OutcomeOK {
		t.Fatal(s.Outcome)
	}
	inspector := asynq.NewInspectorFromRedisClient(f.rdb)
	deadline := time.Now().Add(patience)
	for {
		archived, err := inspector.ListArchivedTasks("default")
		if err == nil && len(archived) == 4 {
			if !strings.Contains(archived[0].LastErr, "undecodable task") {
				t.Errorf("reason = %q", archived[0].LastErr)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("archived: %d %v", len(archived), err)
		}
		time.Sleep(20 * time.Millisecond) // polls; the deadline alone fails the test
	}
}

func lifeARunWhoseBundleIsGoneIsRejected(t *testing.T, f *fleet) {
	b := bundle(t, threeSteps(""))
	run := f.submit(b, `1`)
	if err := f.rdb.Del(context.Background(), "fourfold:bundle:"+b.SHA().String()).Err(); err != nil {
		t.Fatal(err)
	}
	f.worker(newModel(fine), nil)
	s := f.wait(run)
	if s.Outcome != executor.OutcomeFailed || s.Marker.Cause != tasks.CauseRejected || s.Counts.Failed != 3 {
		t.Errorf("outcome %v, cause %v, counts %+v", s.Outcome, s.Marker.Cause, s.Counts)
	}
}

func lifeAParkedStepHoldsNoSlotAndSpendsNoAttempt(t *testing.T, f *fleet) {
	opens := time.Now().Add(1500 * time.Millisecond)
	m := newModel(func(_ context.Context, step string, _ int) (string, error) {
		if step == "one" && time.Now().Before(opens) {
			return "", &executor.Parked{NotBefore: opens}
		}
		return "7", nil
	})
	f.worker(m, func(c *tasks.WorkerConfig) { c.Concurrency = 1 })
	first := f.submit(bundle(t, threeSteps("")), `1`)
	second := f.submit(bundle(t, "flow: other\nsteps:\n"+step("free", "")), `1`)
	if s := f.wait(second); s.Outcome != executor.OutcomeOK {
		t.Error(s.Outcome)
	}
	s := f.wait(first)
	if s.Outcome != executor.OutcomeOK || s.Steps[0].Attempts != 1 {
		t.Errorf("outcome %v, attempts %d", s.Outcome, s.Steps[0].Attempts)
	}
}

func lifeMaxWaitBoundsParking(t *testing.T, f *fleet) {
	m := newModel(func(context.Context, string, int) (string, error) {
		return "", &executor.Parked{NotBefore: time.Now().Add(time.Hour)}
	})
	f.worker(m, nil)
	s := f.wait(f.submit(bundle(t, threeSteps("    max_wait: 1m\n    degrade_to: '0'\n")), `1`))
	if st := s.Steps[0]; st.Outcome != executor.OutcomeDegraded || st.FailureClass != executor.ClassUpstream4xx || st.Attempts != 0 {
		t.Errorf("step %+v", st.Envelope)
	}
}

func lifeACompletionIsTold(t *testing.T, f *fleet) {
	f.worker(newModel(fine), nil)
	run, err := f.client.Submit(context.Background(), tasks.Submission{
		Bundle: bundle(t, threeSteps("")), Input: content.New(json.RawMessage(`1`)), OnDone: "results",
	})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan tasks.DoneNotice, 4)
	mux := asynq.NewServeMux()
	mux.HandleFunc(tasks.DoneTask, func(_ context.Context, task *asynq.Task) error {
		var n tasks.DoneNotice
		if err := json.Unmarshal(task.Payload(), &n); err != nil {
			return err
		}
		told <- n
		return nil
	})
	server := asynq.NewServerFromRedisClient(f.rdb, asynq.Config{Queues: map[string]int{"results": 1}, LogLevel: asynq.FatalLevel, TaskCheckInterval: 50 * time.Millisecond})
	if err := server.Start(mux); err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	select {
	case n := <-told:
		if n != (tasks.DoneNotice{Run: run, Generation: 1, Outcome: executor.OutcomeOK}) {
			t.Errorf("notice %+v", n)
		}
	case <-time.After(patience):
		t.Fatal("nobody was told")
	}
}

func lifeHandlersServeSteps(t *testing.T, f *fleet) {
	seen := make(chan string, 1)
	handler := func(_ context.Context, in flow.Inputs) (executor.Reply[json.RawMessage], error) {
		seen <- string(in.Steps[executor.MustStepID("one")].Value.Reveal())
		return executor.Reply[json.RawMessage]{Value: json.RawMessage(`{"joined":true}`)}, nil
	}
	f.worker(newModel(fine), func(c *tasks.WorkerConfig) { c.Handlers = map[string]tasks.Handler{"join": handler} })
	yaml := chainFlow + step("one", "") + "  - id: join\n    handler: join\n    needs: [one]\n    budget: {attempts: 1, per_attempt: 5s, total: 5s}\n"
	s := f.wait(f.submit(bundle(t, yaml), `1`))
	if got := string(s.Values[executor.MustStepID("join")].Reveal()); got != `{"joined":true}` || <-seen != "7" {
		t.Errorf("value %s", got)
	}
	if s.Steps[1].Prompt != (executor.PromptSHA{}) || s.Steps[1].Provider != (provider.Name{}) {
		t.Errorf("a handler has no prompt and no provider: %+v", s.Steps[1])
	}
}
