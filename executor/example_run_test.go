package executor_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fourfold/executor"
)

// A step whose provider is down for good ends with the value it degrades to, and says so.
func ExampleRun() {
	r, err := executor.Run(context.Background(), executor.Step[[]string]{
		ID: executor.MustStepID("classify-tables"),
		Attempt: func(context.Context) (executor.Reply[[]string], error) {
			return executor.Reply[[]string]{Usage: executor.Tokens(120, 0)}, executor.Failure{Class: executor.ClassUpstream5xx}
		},
		Budget: executor.Budget{
			Attempts: 2, PerAttempt: 20 * time.Second, Total: time.Minute, Backoff: time.Millisecond,
		},
		Degrade: func() []string { return []string{"unclassified"} },
	})
	if err != nil {
		fmt.Println("no outcome:", err)
		return
	}
	e := r.Envelope()
	fmt.Println(e.Outcome, e.FailureClass, e.Attempts, e.Usage)
	if u, ok := r.(executor.Usable[[]string]); ok {
		fmt.Println(u.Value())
	}
	// Output:
	// DEGRADED upstream-5xx 2 input=240 output=0
	// [unclassified]
}

// A step that has nothing to do makes no call.
func ExampleAbstainWhen() {
	tables := []string{}
	r, err := executor.Run(context.Background(), executor.Step[[]string]{
		ID:      executor.MustStepID("classify-tables"),
		Attempt: func(context.Context) (executor.Reply[[]string], error) { panic("no call is made") },
		Budget:  executor.Budget{Attempts: 3, PerAttempt: 20 * time.Second, Total: time.Minute},
		Abstain: executor.AbstainWhen(
			func() bool { return len(tables) == 0 },
			func() []string { return tables },
		),
	})
	fmt.Println(r.Envelope().Outcome, r.Envelope().Attempts, err)
	// Output: ABSTAINED 0 <nil>
}

// When the caller's context ends there is no outcome: the step may be run again elsewhere.
func ExampleRun_interrupted() {
	ctx, cancel := context.WithCancelCause(context.Background())
	r, err := executor.Run(ctx, executor.Step[string]{
		ID: executor.MustStepID("summarise"),
		Attempt: func(ctx context.Context) (executor.Reply[string], error) {
			cancel(errors.New("the worker is told to stop"))
			<-ctx.Done()
			return executor.Reply[string]{}, ctx.Err()
		},
		Budget: executor.Budget{Attempts: 3, PerAttempt: 20 * time.Second, Total: time.Minute},
	})
	fmt.Println(r, err, errors.Is(err, executor.ErrInterrupted))
	// Output: <nil> executor: interrupted true
}

// A step that its provider asked to come back later is delivered again with what it has spent.
func ExampleParked() {
	step := executor.Step[string]{
		ID:     executor.MustStepID("summarise"),
		Budget: executor.Budget{Attempts: 3, PerAttempt: 20 * time.Second, Total: time.Minute, Backoff: time.Millisecond},
	}
	made := 0
	step.Attempt = func(context.Context) (executor.Reply[string], error) {
		if made++; made == 1 {
			return executor.Reply[string]{Usage: executor.Tokens(100, 3)}, executor.Failure{Class: executor.ClassParse}
		}
		return executor.Reply[string]{}, &executor.Parked{NotBefore: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	}
	_, err := executor.Run(context.Background(), step)
	parked, _ := errors.AsType[*executor.Parked](err)
	fmt.Println(parked.NotBefore.Year(), parked.Spent.Attempts, parked.Spent.Usage)

	step.Spent = parked.Spent // years later, on another worker
	step.Attempt = func(context.Context) (executor.Reply[string], error) {
		return executor.Reply[string]{Value: "short", Usage: executor.Tokens(100, 20)}, nil
	}
	r, _ := executor.Run(context.Background(), step)
	fmt.Println(r.Envelope().Outcome, r.Envelope().Attempts, r.Envelope().Usage)
	// Output:
	// 2030 1 input=100 output=3
	// OK 2 input=200 output=23
}
