package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fourfold/tasks"
)

// inStates is an open run whose steps are in these states.
func inStates(states ...string) tasks.Status {
	st := tasks.Status{State: tasks.StateOpen}
	for _, s := range states {
		st.Steps = append(st.Steps, tasks.StepStatus{State: s})
	}
	return st
}

func TestARunStandsWhenNoStepBeganInFiveSeconds(t *testing.T) {
	const waiting, queued, running, done = tasks.StateWaiting, tasks.StateQueued, tasks.StateRunning, tasks.StateDone
	ended := tasks.Status{State: tasks.StateDone}
	for _, c := range []struct {
		name         string
		first, later tasks.Status
		want         bool
	}{
		{"no worker", inStates(queued, waiting), inStates(queued, waiting), true},
		{"no worker any more", inStates(done, queued), inStates(done, queued), true},
		{"a step has begun", inStates(queued, waiting), inStates(running, waiting), false},
		{"a long step", inStates(running, waiting), inStates(running, waiting), false},
		{"between two steps", inStates(queued, waiting), inStates(done, queued), false},
		{"a step that goes back to the queue while another runs", inStates(running, queued), inStates(queued, running), false},
		{"done", inStates(queued), ended, false},
		{"done before", ended, ended, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin, asked := time.Now(), 0
			_, got := stands(t.Context(), func() (tasks.Status, error) {
				if asked++; asked == 1 {
					return c.first, nil
				}
				return c.later, nil
			})
			if got != c.want {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
			if took := time.Since(begin); !c.first.Done() && took != noticeAfter {
				t.Errorf("%s: judged after %s", c.name, took)
			}
		})
	}
}

func TestNobodyIsToldOfARunThatIsNoLongerWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, still := stands(ctx, func() (tasks.Status, error) { return inStates(tasks.StateQueued), nil }); still {
			t.Error("told after the wait was over")
		}
		if _, still := stands(t.Context(), func() (tasks.Status, error) { return tasks.Status{}, errors.New("gone") }); still {
			t.Error("told of a run that cannot be read")
		}
	})
}

func TestTheNoticeSaysWhatARunThatStandsStillWaitsFor(t *testing.T) {
	st := inStates(tasks.StateQueued)
	if got, want := noticeText(st), "no step has begun; is a worker serving queue"; !strings.HasPrefix(got, want) {
		t.Errorf("%q", got)
	}
	st.Steps[0].WaitsFor, st.Steps[0].Waits = tasks.WaitsForHandler, time.Now()
	if got, want := noticeText(st), "has not begun: no worker that took it has its handler"; !strings.HasSuffix(got, want) {
		t.Errorf("%q", got)
	}
}
