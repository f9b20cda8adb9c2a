// Package demo runs the fleet in one process: the worker and the client that everybody uses, a Redis in memory, providers
// that are simulated unless a configuration names real ones, and a receiver for the metrics that the worker sends.
//
// It is a show of the product and not a second product: the demo has no code path of its own between a document and its
// outcome. What is simulated says so: in the headline, in the model's name, and in the metrics' tags.
package demo
