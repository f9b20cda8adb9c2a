// Package provider asks models, and says what went wrong in words that a worker can act on.
//
// A [Client] is one provider and model. [NewChain] joins several in the order in which they are tried; [Guard] puts timeouts, a
// [Breaker], the fleet's limits and a record around one. All three are Clients, so they nest:
//
//	chain := provider.NewChain(
//		provider.Guard(primary, provider.GuardConfig{Timeouts: …, Breaker: provider.NewBreaker(provider.BreakerConfig{})}),
//		provider.Guard(backup, …),
//	)
//	answer, err := chain.Complete(ctx, provider.Request{Prompt: content.New("…")})
//
// The clients are in provider/openai, provider/anthropic, provider/gemini and provider/simulated. To write one's own, implement
// Client, return what Judge makes of a [Signal] for everything that goes wrong, and run it through providertest.Run; the example
// of this package does it in under forty lines.
//
// # Kinds and outcomes
//
// An [Error] has a [Kind]: what the provider did. A step has an outcome and a failure class: what became of the work. Between
// the two stands one table, in table.go, and [Judge] reads it: from what was seen to the kind, to whether the chain may ask its next
// provider, to whether the executor may make another attempt, and to the failure class. Nothing else decides any of this. A
// 429 is of kind rate_limit and class upstream-4xx, and is retried; a truncated answer is of kind output_validation and class
// parse, and is not, because the same request meets the same limit and is paid for again.
//
// # Chains and attempts
//
// Within one attempt a chain asks each provider at most once and never waits. Whether and when there is another attempt is
// the executor's alone, from the error's Failure: so three providers and three attempts are at most nine calls, and each wait is
// within the step's budget. When a whole chain fails, [ChainError] says whether any of its providers may be asked again, and after
// which wait. A place that is not free ([Gate]) is no error but an *executor.Parked.
//
// A stream falls over to the next provider until it has shown its first token, by the same rules; after that its error surfaces,
// and another attempt begins anew.
//
// # Content
//
// Prompts and answers are content.Of. No error, signal or [Call] holds a provider's words where they could be printed: texts
// are made of names, enumerations and numbers.
package provider
