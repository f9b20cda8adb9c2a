// Package executor runs one step of LLM work to one of four outcomes, within a budget.
//
//	OK         an attempt succeeded
//	DEGRADED   the attempts failed, and the step goes on with a second-best value
//	ABSTAINED  there was nothing to do: no attempt was made
//	FAILED     the attempts failed, and there is no value
//
// A [Step] says how to make an attempt, how many and how long (its [Budget]), and optionally when to
// abstain and what to degrade to. [Run] turns it into a [Result]:
//
//	r, err := executor.Run(ctx, executor.Step[string]{
//		ID:      executor.MustStepID("summarise"),
//		Attempt: func(ctx context.Context) (executor.Reply[string], error) { … },
//		Budget:  executor.Budget{Attempts: 3, PerAttempt: 20 * time.Second, Total: time.Minute},
//		Degrade: func() string { return "no summary" },
//	})
//	if err != nil {
//		return err // no outcome: interrupted, parked, or the step is invalid
//	}
//	text := executor.Match(r, …)
//
// An outcome is a value; an error means that there is none. The value of a result can be read only
// where there is one: reading it off a [Failed] does not compile, and [Match] asks for all four.
//
// # Attempts
//
// Each attempt runs on a goroutine of its own, raced against a timer, because a context is a request
// that an attempt may ignore. Whatever it does, Run returns by Budget.Total. An attempt that was left
// behind runs on until it ends by itself; [Strays] counts those. Who has ten thousand steps
// under way makes them by [Prepare] and lets them [Prepared.Start]: nobody waits then, and a step holds its
// attempt's goroutine alone.
//
// A failed attempt is judged once, by [Classify]: the class says what is reported, and whether another
// attempt may follow. An error that knows better says so itself (see [Failing] and [Failure]), and then
// the retry it asks for wins over its class, both ways, while the class is reported unchanged. There is
// one retry loop, this one: what an attempt calls should have none.
//
// A panic in any of the step's functions is contained: the step fails, nothing is retried, and the
// type of the panic value is all that is kept (see [PanicError]).
//
// # Content
//
// The values are content: prompts, answers, what customers own. A result prints, logs and encodes as
// its [Envelope], which holds numbers, enumerations and identifiers, and nothing that could hold free
// text. So do not fear logging a result, and do not log what Value returned.
//
// # Time in tests
//
// Run reads package time alone, so a bubble of testing/synctest has it under its clock. A bubble waits
// for strays, as it does for every goroutine.
package executor
