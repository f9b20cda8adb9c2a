package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fourfold/executor"
)

func answered(value string) executor.Result[string] {
	r, err := executor.Run(context.Background(), executor.Step[string]{
		ID: executor.MustStepID("summarise"),
		Attempt: func(context.Context) (executor.Reply[string], error) {
			return executor.Reply[string]{Value: value, Model: executor.ModelVersionOf("gpt-4o-2024-08-06")}, nil
		},
		Budget: executor.Budget{Attempts: 1, PerAttempt: time.Minute, Total: time.Minute},
	})
	if err != nil {
		panic(err)
	}
	return r
}

// Match takes a result apart; the compiler sees to it that no outcome is forgotten.
func ExampleMatch() {
	fmt.Println(executor.Match(answered("a summary"),
		func(r executor.OK[string]) string { return r.Value() },
		func(r executor.Degraded[string]) string { return r.Value() + " (second best)" },
		func(executor.Abstained[string]) string { return "nothing to summarise" },
		func(r executor.Failed[string]) string { return "failed: " + r.Envelope().FailureClass.String() },
	))
	// Output: a summary
}

// A result shows its envelope, never its value.
func ExampleResult() {
	r := answered("what a customer wrote")
	data, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	var e executor.Envelope
	if err := json.Unmarshal(data, &e); err != nil {
		panic(err)
	}
	e.Latency = 0 // it differs from run to run
	fmt.Println(e)
	fmt.Println(fmt.Sprintf("%#v", r) == r.Envelope().String())
	// Output:
	// step=summarise outcome=OK attempts=1 latency_ms=0 model_version=gpt-4o-2024-08-06
	// true
}

// An error may say its class, and whether to try again, itself.
func ExampleFailure() {
	limited := executor.Failure{
		Class: executor.ClassUpstream4xx, Retry: executor.RetryYes, RetryAfter: 2 * time.Second,
		Err: errors.New("what the provider wrote, never printed"),
	}
	f := executor.Classify(fmt.Errorf("chain: %w", limited))
	fmt.Println(f.Class, f.Retry == executor.RetryYes, f.RetryAfter)
	fmt.Println(limited)
	// Output:
	// upstream-4xx true 2s
	// executor: attempt failed: upstream-4xx
}

func ExampleClassify() {
	var into int
	for _, err := range []error{
		context.DeadlineExceeded,
		json.Unmarshal([]byte(`"four"`), &into),
		errors.New("never seen before"),
	} {
		fmt.Println(executor.Classify(err).Class)
	}
	// Output:
	// timeout
	// parse
	// parse
}

func ExampleWorst() {
	fmt.Println(executor.Worst())
	fmt.Println(executor.Worst(executor.OutcomeOK, executor.OutcomeAbstained))
	fmt.Println(executor.Worst(executor.OutcomeOK, executor.OutcomeDegraded, executor.OutcomeAbstained))
	// Output:
	// ABSTAINED
	// OK
	// DEGRADED
}
