package telemetry

import (
	"context"
	"time"

	"fourfold/executor"
	"fourfold/provider"
)

// StepFinished is told once for each settled step.
type StepFinished struct {
	Run           string // <queue>.<26 characters>
	Flow          string
	Queue         string
	Envelope      executor.Envelope
	Worst         executor.Outcome // of the outgoing marker
	Cause         string           // of a FAILED step that no class explains: canceled, deadline, dependency, crash, rejected
	Skipped       bool             // settled without being run: no latency, attempts or waiting time is reported
	Provider      provider.Name    // last asked; zero: none
	ModelProvider provider.ModelProvider
	ErrorKind     provider.Kind
	Reason        provider.Reason
	QueueWait     time.Duration    // from due to begun
	Tokens        []ProviderTokens // paid outside of provider calls, by a handler; calls tell theirs. Not kept after the call
}

// ProviderTokens is what one provider was paid within a step. Unknown usage is not reported: it is not zero.
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
	Latency          time.Duration   // from submission to the last settled step
}

// QueueSizes is what the elected reporter sees of one queue.
type QueueSizes struct {
	Queue                                               string
	Pending, Active, Scheduled, Retry, Archived, Outbox int64
	OldestPending                                       time.Duration // zero: nothing is pending
}

// Fleet is what one worker says of itself, every few seconds.
type Fleet struct {
	Busy   int64 // steps being run
	Slots  int64 // steps that can be run at once
	Strays int64 // attempts that the executor stopped waiting for and that still run
	Parked int64 // steps that this worker parked and that are not due yet
	// StraysByStep says whose the strays are; nil: not known. Once it is known, a step that it does not name has none.
	StraysByStep []StepStrays
}

// StepStrays counts the stray attempts of one step of a flow.
type StepStrays struct {
	Flow   string
	Step   executor.StepID
	Strays int64
}

// Observer is told what a worker does. Its methods are called from many goroutines and must not block. They may not keep
// the slices they are handed.
type Observer interface {
	provider.Observer
	StepFinished(context.Context, StepFinished)
	// StepDuplicate tells of a delivery that came after the step was done, or while another worker holds it.
	StepDuplicate(ctx context.Context, flow string, step executor.StepID)
	// StepParked tells that a step was put back because no provider may be called for the time of wait.
	StepParked(ctx context.Context, flow string, step executor.StepID, wait time.Duration)
	RunFinished(context.Context, RunFinished)
	// QueueSizes is called by the one elected reporter of the fleet for each queue, every few seconds.
	QueueSizes(QueueSizes)
	Fleet(Fleet)
	// Swept tells what the sweeper mended: redriven, relayed, deadline, crash.
	Swept(queue, found string, n int)
	// Drained tells at the end of a shutdown what became of the steps in flight: finished in time, given back to the queue
	// before their call, or cut in the middle of one.
	Drained(finished, requeued, cut int)
}
