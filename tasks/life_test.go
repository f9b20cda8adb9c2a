package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/provider"
	"fourfold/tasks"
)

func lifeAKeyIsOneRunAndItsReuseAConflict(t *testing.T, f *fleet) {
	ctx := context.Background()
	b := bundle(t, threeSteps(""))
	made := false
	submit := func(input string) (run tasks.RunID, err error) {
		run, made, err = f.client.SubmitOnce(ctx, tasks.Submission{Bundle: b, Input: content.New(json.RawMessage(input)), Key: "order-1"})
		return run, err
	}
	first, err := submit(`1`)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	if second, err := submit(`1`); err != nil || second != first || made {
		t.Errorf("same key again: %v, made %v, %v", second, made, err)
	}
	var conflict *tasks.ConflictError
	if _, err := submit(`2`); !errors.As(err, &conflict) || conflict.Run != first {
		t.Errorf("other input: %v", err)
	}
	m := newModel(fine)
	f.worker(m, nil)
	f.wait(first)
	if again, err := submit(`1`); err != nil || again != first || made || m.total() != 3 {
		t.Errorf("same key when done: %v, made %v, %v, calls %d", again, made, err, m.total())
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

// limitedFor is an answer with a Retry-After.
func limitedFor(status int, after time.Duration) error {
	return provider.Judge(provider.Signal{Provider: provider.MustName("stub"), Status: status, RetryAfter: after, HasRetryAfter: true})
}

const patientSteps = "flow: patient\nsteps:\n  - id: told\n    prompt: p.tmpl\n    output: number.json\n    budget: {attempts: 2, per_attempt: 1m, total: 2h}\n    degrade_to: '0'\n"

func lifeAStepThatIsToldWhenToComeBackHoldsNoSlot(t *testing.T, f *fleet) {
	m := newModel(func(_ context.Context, step string, _ int) (string, error) {
		if step == "told" {
			return "", limitedFor(429, time.Hour)
		}
		return "7", nil
	})
	f.worker(m, func(c *tasks.WorkerConfig) { c.Concurrency = 1 })
	told := f.submit(bundle(t, patientSteps+"    max_wait: 2h\n"), `1`)
	for m.count("told") == 0 {
		time.Sleep(time.Millisecond)
	}
	if s := f.wait(f.submit(bundle(t, "flow: other\nsteps:\n"+step("free", "")), `1`)); s.Outcome != executor.OutcomeOK {
		t.Error(s.Outcome)
	}
	if s, err := f.client.Status(context.Background(), told, tasks.AllValues); err != nil || s.State != tasks.StateOpen || m.count("told") != 1 {
		t.Errorf("the step that waits: %v, %v, %d calls", s.State, err, m.count("told"))
	}
}

func lifeMaxWaitBoundsWhatAFailureAsksFor(t *testing.T, f *fleet) {
	m := newModel(func(context.Context, string, int) (string, error) { return "", limitedFor(503, time.Hour) })
	f.worker(m, nil)
	s := f.wait(f.submit(bundle(t, patientSteps+"    max_wait: 1m\n"), `1`))
	if st := s.Steps[0]; st.Outcome != executor.OutcomeDegraded || st.FailureClass != executor.ClassUpstream5xx || st.Attempts != 1 {
		t.Errorf("step %+v", st.Envelope)
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
	yaml := chainFlow + step("one", "") + "  - id: join\n    handler: join\n    needs: [one]\n    budget: {attempts: 1, per_attempt: 60s, total: 60s}\n"
	s := f.wait(f.submit(bundle(t, yaml), `1`))
	if got := string(s.Values[executor.MustStepID("join")].Reveal()); got != `{"joined":true}` || <-seen != "7" {
		t.Errorf("value %s", got)
	}
	if s.Steps[1].Prompt != (executor.PromptSHA{}) || s.Steps[1].Provider != (provider.Name{}) {
		t.Errorf("a handler has no prompt and no provider: %+v", s.Steps[1])
	}
}
