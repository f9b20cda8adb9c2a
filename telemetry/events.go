// Package telemetry tells Datadog and the log what happened, without a word of content.
package telemetry

import (
	"context"
	"time"

	"fourfold/executor"
	"fourfold/provider"
)

// StepFinished is told once for each settled step.
type StepFinished struct {
	Run           string
	Flow          string
	Queue         string
	Envelope      executor.Envelope
	Worst         executor.Outcome // of the outgoing marker
	Cause         string           // of a FAILED step that no class explains: canceled, deadline, dependency, crash, rejected
	Skipped       bool
	Provider      provider.Name // last asked; zero: none
	ModelProvider provider.ModelProvider
	ErrorKind     provider.Kind
	Reason        provider.Reason
	QueueWait     time.Duration
	Tokens        []ProviderTokens // by provider and model over all attempts
}

// ProviderTokens is what one provider was paid for within a step.
type ProviderTokens struct {
	ModelProvider provider.ModelProvider
	Model         executor.ModelVersion
	Usage         executor.Usage
}

// RunFinished is told once for each finished run.
type RunFinished struct {
	Run, Flow, Queue string
	Outcome          executor.Outcome
	Cause            string          // of the marker; empty: none
	Step             executor.StepID // named by the marker; zero: none
	Latency          time.Duration
}

// QueueSizes is what the elected reporter sees of one queue.
type QueueSizes struct {
	Queue                                               string
	Pending, Active, Scheduled, Retry, Archived, Outbox int64
	OldestPending                                       time.Duration
}

// Fleet is what one worker says of itself, every few seconds.
type Fleet struct {
	Busy, Slots, Strays, Parked int64
}

// Observer is told what a worker does. Its methods are called from many goroutines and must not block.
type Observer interface {
	provider.Observer
	StepFinished(context.Context, StepFinished)
	StepDuplicate(ctx context.Context, flow string, step executor.StepID) // delivered again after it was done, or while it is held
	StepParked(ctx context.Context, flow string, step executor.StepID, wait time.Duration)
	RunFinished(context.Context, RunFinished)
	QueueSizes(QueueSizes)
	Fleet(Fleet)
	Swept(queue, found string, n int) // what the sweeper mended: redriven, relayed, deadline, crash
	Drained(finished, requeued, cut int)
}
