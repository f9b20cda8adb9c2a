// Package telemetry tells Datadog and the log what a worker does, without a word of content.
//
// Whoever works reports through an [Observer]: tasks and provider call it with events ([StepFinished], [RunFinished],
// [provider.Call] and so on) that can hold numbers, enumerations and identifiers only. [New] makes the Observer that a
// worker uses: a [Sink], which turns events into DogStatsD metrics and log lines. [Multi] joins several, [Discard] is
// none, and package telemetrytest has one that remembers.
//
// # Metrics
//
// Every metric is a row of [Catalogue]: name, type, unit, tags, and the question it answers.
// deploy/datadog/METRICS.md is written from it, the tests compare every datagram with it, and the dashboards and monitors
// are checked against it. Durations are in seconds. Tag values are enumerations or names from configuration and flows;
// how many different ones a worker sends is limited, and what is over the limit is tagged `other`.
//
// What is told about steps and calls is added up per combination of tags and sent every two seconds, so that a finished
// step costs its worker a look-up and a few additions: no allocation, no system call, no waiting. A receiver that is
// missing, slow or stuck loses metrics and changes nothing else; [Sink.Close] returns within two seconds whatever it does.
//
// # Log
//
// [NewLogger] makes the process's one log: JSON lines (or text for a terminal), written by a goroutine of its own, so that
// a stuck pipe stops nobody either. Lines that had to be dropped are counted and the count is logged. Key-value pairs are
// numbers, durations, enumerations and identifiers; any other string prints as [content]. Errors print as a short code
// ([ErrorCode]), never with their text. [RedisLog] stands between the Redis client and this log: the client writes
// addresses, keys and error texts into its messages, so only their fixed words pass.
//
// # Health
//
// [NewHealth] answers /healthz and /readyz for Kubernetes; [ServeHealth] serves them.
package telemetry
