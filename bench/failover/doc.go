// Command failover plays the sixteen faults of the public benchmark Failover Bench against Fourfold's providers, chain, guard
// and executor, and prints what became of each beside the published results of other products.
//
//	go run ./bench/failover            # silences and outages last a tenth of the benchmark's: about 15 seconds
//	go run ./bench/failover -scale 1   # as long as there: about two minutes
//
// One configuration meets all faults: a chain of two under [provider.Patient], guards with timers and breakers, and a step of
// four attempts. A second column shows the same under the decision table's own rule, which asks the next provider at once. The
// exit status is 0 when the first passes all sixteen.
package main
