// Package telemetrytest has an Observer for tests that remembers what it was told, and waits for it without sleeping.
package telemetrytest
