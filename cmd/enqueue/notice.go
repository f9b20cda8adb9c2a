package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"fourfold/tasks"
)

// noticeAfter is how long a run may stand still before somebody who waits for it is told.
const noticeAfter = 5 * time.Second

// notice tells, once, when no step of a run that is waited for begins. The caller calls stop before it shows the run.
func (s *session) notice(ctx context.Context, run tasks.RunID, say func(string)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		read := func() (tasks.Status, error) { return s.client.Status(ctx, run, tasks.NoValues) }
		if st, still := stands(ctx, read); still {
			say(noticeText(st))
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// noticeText says what a run that stands still waits for.
func noticeText(st tasks.Status) string {
	if w := longest(st.Steps); w.WaitsFor != "" && w.WaitsFor != tasks.WaitsForWorker {
		return fmt.Sprintf("step %s has not begun: %s", w.Step, waitsText(w.WaitsFor, st.Run.Queue()))
	}
	return fmt.Sprintf("no step has begun; is a worker serving queue %s? (see: enqueue queues)", st.Run.Queue())
}

// stands says whether a run has open steps of which none began within noticeAfter, and how it stands then. It is false when
// ctx ends before.
func stands(ctx context.Context, read func() (tasks.Status, error)) (tasks.Status, bool) {
	before, err := read()
	if err != nil || before.Done() {
		return before, false
	}
	select {
	case <-time.After(noticeAfter):
	case <-ctx.Done():
		return before, false
	}
	now, err := read()
	return now, err == nil && !now.Done() && begun(now) == begun(before) && !running(now)
}

// begun is how many steps have begun, whether or not they have ended.
func begun(st tasks.Status) (n int) {
	for _, step := range st.Steps {
		if step.State == tasks.StateRunning || step.State == tasks.StateDone {
			n++
		}
	}
	return n
}

func running(st tasks.Status) bool {
	for _, step := range st.Steps {
		if step.State == tasks.StateRunning {
			return true
		}
	}
	return false
}

// say tells people something that is not part of the result.
func (s *session) say(text string) { fmt.Fprintln(s.streams.Err, text) }
