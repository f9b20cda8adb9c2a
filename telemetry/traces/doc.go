// Package traces sends the spans of steps and provider calls to an OpenTelemetry receiver: Datadog's agent, a collector,
// Jaeger. It is off unless a program calls [Open], and the only package that knows OpenTelemetry's SDK.
//
// # Who makes which span
//
// A worker of package tasks makes one span for each delivery of a step, under the Tracer that its configuration names.
// The calls within it are told to a [provider.Observer] when they are over; [Provider.Observe] makes each of them a span
// that began in the past, and hands its context on, so that log lines of calls carry its ids. Calls follow the
// semantic conventions for generative AI; what only Fourfold knows is named fourfold.*.
//
// # Which trace
//
// A step belongs to the trace of whoever submitted its run: the W3C context is kept with the run. A run of a producer
// without a trace has one all the same, whose id is made of the run's (see [Open]): its steps meet there, whichever
// workers run them, and nothing needs to be stored or carried for it. The decision whether to record is the producer's;
// where there is none, it is taken by the trace id, so that a run is recorded whole or not at all.
//
// # What is in a span
//
// Numbers, enumerations and identifiers, as in metrics and log: never content, no error text, no address. A step's span is
// an error when the step is FAILED, a call's when the call failed and the worker did not cut it itself.
package traces
