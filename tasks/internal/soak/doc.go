// Command soak plays runs while what they need is killed, and compares each with what it must end as.
//
//	make soak                                    # ten minutes
//	go run ./tasks/internal/soak -minutes 60 -seed 7
//
// It starts a real Redis, worker processes, and a server that speaks OpenAI's protocol and counts; then, in rounds, it
// submits runs of random flows (all modes of edges, lists of items, every outcome) through the Go client, through clients
// that die between two commands, and through enqueue processes that are killed, while workers are killed, stopped beyond
// their leases and ended in order, and Redis goes away, restarts, or answers nothing. When a round's runs have ended:
//
//   - outcomes, causes, skips, markers and counts are those of the pure evaluation (tasks/internal/oracle);
//   - every step was handed its parents' outcomes and values;
//   - every step was asked for once. A second call needs a kill or a stop of the worker that made the first, after it began
//     and before the second, or its orderly end while Redis was away; one of those excuses no more steps than the worker had
//     slots;
//   - nothing is left in the outbox, the claims, or among the runs to visit.
//
// It prints a line a round, then what differs, and exits with 1 if anything does. The seed fixes flows and faults, not the
// moments at which they meet.
package main
