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
		if stands(ctx, read) {
			say(fmt.Sprintf("no step has begun; is a worker serving queue %s? (see: enqueue queues)", run.Queue()))
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// stands says whether a run has open steps of which none began within noticeAfter. It is false when ctx ends before.
func stands(ctx context.Context, read func() (tasks.Status, error)) bool {
	before, err := read()
	if err != nil || before.Done() {
		return false
	}
	select {
	case <-time.After(noticeAfter):
	case <-ctx.Done():
		return false
	}
	now, err := read()
	return err == nil && !now.Done() && begun(now) == begun(before) && !running(now)
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
