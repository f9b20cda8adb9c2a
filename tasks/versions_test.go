package tasks_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hibiken/asynq"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks"
)

// During a rollout an old worker may be handed a task of a newer version. It cannot read it: the task is archived with a
// reason, and the sweeper of any worker rings anew for the step, so that the run loses some seconds and nothing else.
func TestATaskOfANewerVersionIsArchivedAndItsStepRungForAnew(t *testing.T) {
	t.Parallel()
	f := realFleet(t)
	run := f.submit(bundle(t, threeSteps("")), `1`)
	inspector := asynq.NewInspectorFromRedisClient(f.rdb)
	pending, err := inspector.ListPendingTasks("default")
	if err != nil || len(pending) != 1 {
		t.Fatalf("pending: %d, %v", len(pending), err)
	}
	if err := inspector.DeleteTask("default", pending[0].ID); err != nil {
		t.Fatal(err)
	}
	newer := append([]byte("2"), pending[0].Payload[1:]...)
	if _, err := asynq.NewClientFromRedisClient(f.rdb).Enqueue(
		asynq.NewTask(pending[0].Type, append(newer, "|more"...)), asynq.Queue("default"), asynq.TaskID(pending[0].ID)); err != nil {
		t.Fatal(err)
	}
	m := newModel(fine)
	f.worker(m, nil)
	if s := f.wait(run); s.Outcome != executor.OutcomeOK || m.total() != 3 {
		t.Errorf("outcome %v, %d calls", s.Outcome, m.total())
	}
	archived, err := inspector.ListArchivedTasks("default")
	if err != nil || len(archived) != 1 || archived[0].ID != pending[0].ID {
		t.Errorf("archived: %v, %v", archived, err)
	}
	if n, err := f.client.DiscardArchived(context.Background(), "default"); err != nil || n != 1 {
		t.Errorf("discarded %d, %v", n, err)
	}
}

// A step whose handler only newer workers have goes back from each old one, without an attempt spent, until one takes it.
func TestAStepWaitsForTheWorkerThatHasItsHandler(t *testing.T) {
	t.Parallel()
	f := realFleet(t)
	m := newModel(fine)
	f.worker(m, nil)
	run := f.submit(bundle(t, "flow: newer\nsteps:\n  - {id: do, handler: newer, budget: {attempts: 1, per_attempt: 60s, total: 60s}}\n"), `1`)
	f.awaitParked(t)
	calls := 0
	f.worker(m, func(c *tasks.WorkerConfig) {
		c.Handlers = map[string]tasks.Handler{"newer": func(context.Context, flow.Inputs) (executor.Reply[json.RawMessage], error) {
			calls++
			return executor.Reply[json.RawMessage]{Value: json.RawMessage(`1`)}, nil
		}}
	})
	s := f.wait(run)
	if s.Outcome != executor.OutcomeOK || s.Steps[0].Attempts != 1 || calls != 1 {
		t.Errorf("outcome %v, %d attempts, %d calls", s.Outcome, s.Steps[0].Attempts, calls)
	}
}

// awaitParked waits until a step is in the outbox, for later.
func (f *fleet) awaitParked(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		queues, err := f.client.Queues(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queues {
			if q.Outbox > 0 && q.Pending == 0 && q.Active == 0 {
				return
			}
		}
		time.Sleep(20 * time.Millisecond) // polls; patience alone fails the test
	}
}

// What is deployed between submit and delivery changes nothing for a run: its flow and prompts are those of its submission.
func TestARunKeepsTheFlowAndPromptsItWasSubmittedWith(t *testing.T) {
	t.Parallel()
	f := realFleet(t)
	release := func(prompt string) *flow.Bundle {
		b, err := flow.Load(fstest.MapFS{
			"flow.yaml":   {Data: []byte("flow: released\nsteps:\n" + step("one", ""))},
			"p.tmpl":      {Data: []byte(prompt)},
			"number.json": {Data: []byte(`{"type":"number"}`)},
		}, "flow.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	before, after := release("Count to 1."), release("Count to 2.")
	first, second := f.submit(before, `1`), f.submit(after, `1`)
	m := newModel(nil)
	m.reply = func(prompt string) (string, error) {
		return strings.TrimSuffix(strings.TrimPrefix(prompt, "Count to "), "."), nil
	}
	f.worker(m, nil)
	for _, c := range []struct {
		run   tasks.RunID
		sha   flow.SHA
		value string
	}{{first, before.SHA(), "1"}, {second, after.SHA(), "2"}} {
		s := f.wait(c.run)
		if got := string(s.Values[executor.MustStepID("one")].Reveal()); got != c.value || s.BundleSHA != c.sha || s.Steps[0].Prompt != c.sha {
			t.Errorf("value %s of bundle %v, want %s of %v", got, s.BundleSHA, c.value, c.sha)
		}
	}
}
