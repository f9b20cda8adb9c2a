// Package telemetrytest helps to test what a worker tells: [Recorder] is a telemetry.Observer that remembers its events and
// can be waited for without sleeping; [Receiver] takes DogStatsD over UDP or a Unix socket and reads it with [ParseLine],
// which refuses all that a receiver could understand in two ways.
package telemetrytest
