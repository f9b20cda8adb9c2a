// Command anchors measures Fourfold beside other systems on the same machine, in alternation, and compares the ratios with
// the goals.
//
//	cd bench/anchors && go run . -quick            # under two minutes, small sizes: is anything badly off?
//	cd bench/anchors && go run . -write            # all of it; writes docs/benchmarks.md and docs/plots
//	cd bench/anchors && go run . -only chains,idle # some workloads; -list names them
//	cd bench/anchors && go run . -only chains -profile DIR
//
// It starts what it needs: redis-server for each measurement anew, PostgreSQL for River where it is installed, worker
// processes, and a UDP receiver for metrics. The anchors are asynq alone, go-workflows on Redis and River on PostgreSQL;
// what they need is in this module's go.mod and not in the product's.
//
// Only ratios within one run carry over to another machine. Each workload is a file: chains.go, idle.go and so on; what is
// measured becomes a figure (figures.go), goals.go compares figures with the goals, report.go prints them.
package main
