// Package job is one job, done by several systems: runs of steps that do nothing, or sleep, on a queue.
//
// A [System] makes producers and workers. The workers are in processes of their own, which [Start] makes by running the
// present program again: it must call [Serve] first thing when its first argument is [WorkerWord]. A worker tells over its
// standard output when so many runs have finished, and at any time what it has spent ([Report]).
//
// Times are read from the machine's one clock, by whichever process sees the event.
package job
