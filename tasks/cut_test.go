package tasks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/internal/redistest"
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

// endless gives the steps of a flow budgets beyond the test's patience, so that no call is cut by its own.
func endless(yaml string) string {
	return strings.ReplaceAll(yaml, budget, "per_attempt: 500s, total: 1100s")
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

// awaitListener waits until a worker listens for cancels.
func (f *fleet) awaitListener() {
	f.t.Helper()
	for n := int64(0); n == 0; {
		var err error
		if n, err = f.rdb.PubSubNumPat(context.Background()).Result(); err != nil {
			f.t.Fatal(err)
		}
	}
}

func lifeCancelCutsCallsInFlightAndSpendsNoMore(t *testing.T, f *fleet) {
	answer, calls := hang("two")
	m := newModel(answer)
	f.worker(m, func(c *tasks.WorkerConfig) { c.Lease = time.Hour }) // heartbeats come too late: the message must tell
	run := f.submit(bundle(t, endless(threeSteps(""))), `1`)
	<-calls.begun
	f.awaitListener()
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
	run := f.submit(bundle(t, endless(threeSteps(""))), `1`)
	<-calls.begun
	if finished, err := f.client.Cancel(context.Background(), run); err != nil || finished {
		t.Fatal(finished, err)
	}
	if s := f.wait(run); s.Marker.Cause != tasks.CauseCanceled {
		t.Errorf("cause %v", s.Marker.Cause)
	}
	calls.awaitCut(t)
}

func lifeTheDeadlineEndsAStepInFlight(t *testing.T, f *fleet) {
	answer, calls := hang("one")
	m := newModel(answer)
	var s tasks.Status
	for limit := 2 * time.Second; m.total() == 0; limit *= 2 { // a slow machine needs longer to begin the step
		times := fmt.Sprintf("per_attempt: %[1]v, total: %[1]v", limit)
		yaml := fmt.Sprintf("flow: brief\ndeadline: %v\nsteps:\n", limit) + strings.ReplaceAll(step("one", "")+step("two", "    needs: [one]\n"), budget, times)
		run := f.submit(bundle(t, yaml), `1`)
		time.Sleep(limit / 4) // so that the run's deadline ends before the step's budget
		_, stop := f.worker(m, nil)
		s = f.wait(run)
		stop()
	}
	calls.awaitCut(t)
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
	goOn := make(chan struct{})
	m := newModel(func(ctx context.Context, step string, n int) (string, error) {
		switch step {
		case "bad":
			if n == 1 {
				<-calls.begun
				<-calls.begun
			}
			return "", sickness()
		case "notify": // keeps the run open until the items are cut
			<-goOn
		}
		return answer(ctx, step, n)
	})
	f.worker(m, func(c *tasks.WorkerConfig) { c.Lease = time.Hour }) // heartbeats come too late: the message must tell
	f.awaitListener()
	yaml := "flow: items\nfail_fast: true\nsteps:\n" + step("bad", "") +
		strings.Replace(step("each", "    for_each: input\n    max_in_flight: 2\n"), "p.tmpl", "item.tmpl", 1) +
		step("notify", "    needs: [{step: bad, mode: always}, {step: each, mode: always}]\n")
	run := f.submit(bundle(t, endless(yaml)), `[1,2,3,4]`)
	calls.awaitCut(t)
	calls.awaitCut(t)
	close(goOn)
	s := f.wait(run)
	if s.Steps[1].Cause != tasks.CauseCanceled || m.count("each") != 2 {
		t.Errorf("cause %v, %d calls of items", s.Steps[1].Cause, m.count("each"))
	}
	f.quiet()
}
