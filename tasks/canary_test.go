package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hibiken/asynq"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks"
)

// spoken keeps what a worker logs.
type spoken struct {
	mu    sync.Mutex
	lines []string
}

func (s *spoken) say(level, msg string, kv []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintln(level, msg, kv))
}

func (s *spoken) Debug(msg string, kv ...any) { s.say("debug", msg, kv) }
func (s *spoken) Info(msg string, kv ...any)  { s.say("info", msg, kv) }
func (s *spoken) Warn(msg string, kv ...any)  { s.say("warn", msg, kv) }
func (s *spoken) Error(msg string, kv ...any) { s.say("error", msg, kv) }

func (s *spoken) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "")
}

// What a Go handler panics with, or says in an error, is a customer's as much as a prompt is. (internal/e2e looks at the
// rest, on the worker program.)
func lifeAHandlersPanicAndErrorLeaveNoTrace(t *testing.T, f *fleet) {
	const canary = "canary5d21c8"
	type reply = executor.Reply[json.RawMessage]
	handlers := map[string]tasks.Handler{
		"panics": func(context.Context, flow.Inputs) (reply, error) { panic(canary) },
		"errs":   func(context.Context, flow.Inputs) (reply, error) { return reply{}, errors.New(canary) },
		"lies":   func(context.Context, flow.Inputs) (reply, error) { return reply{Value: json.RawMessage(canary)}, nil },
	}
	log := &spoken{}
	f.worker(newModel(fine), func(c *tasks.WorkerConfig) { c.Handlers, c.Logger = handlers, log })
	yaml := "flow: canary\nsteps:\n"
	for id := range handlers {
		yaml += fmt.Sprintf("  - {id: %s, handler: %[1]s, budget: {attempts: 1, per_attempt: 60s, total: 60s}}\n", id)
	}
	s := f.wait(f.submit(bundle(t, yaml), `"`+canary+`"`))
	for _, st := range s.Steps {
		if st.Outcome != executor.OutcomeFailed || st.FailureClass != executor.ClassParse {
			t.Errorf("%s: %v, %v", st.Step, st.Outcome, st.FailureClass)
		}
	}
	if strings.Contains(log.all(), canary) || log.all() == "" {
		t.Errorf("the log:\n%s", log.all())
	}
	inspector := asynq.NewInspectorFromRedisClient(f.rdb)
	for _, list := range []func(string, ...asynq.ListOption) ([]*asynq.TaskInfo, error){
		inspector.ListPendingTasks, inspector.ListActiveTasks, inspector.ListRetryTasks, inspector.ListScheduledTasks, inspector.ListArchivedTasks,
	} {
		left, err := list("default")
		if err != nil {
			t.Error(err)
		}
		for _, task := range left {
			if strings.Contains(fmt.Sprintf("%+v %s", task, task.Payload), canary) {
				t.Errorf("asynq keeps %+v", task)
			}
		}
	}
	if doc, err := s.JSON(); err != nil || strings.Contains(string(doc), canary) {
		t.Errorf("the status document of a failed run shows content: %s", doc)
	}
}
