// Package endtoend sends a fleet's metrics to Prometheus' statsd_exporter, which is no part of this project and reads
// DogStatsD in its own way, and compares what it understood with what was told.
package endtoend
