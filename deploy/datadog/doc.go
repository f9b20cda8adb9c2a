// Package datadog holds what a Fourfold fleet needs in Datadog: a dashboard, monitors and service level objectives as the
// JSON that Datadog's API takes, and an installer that puts them there again and again without making two of anything.
//
// The tests read each file with Datadog's own client, strictly, and each query against the catalogue of metrics in package
// telemetry; and they send a fleet's metrics to an independent receiver. It is a module of its own so that the clients
// needed for that are no dependencies of Fourfold.
package datadog
