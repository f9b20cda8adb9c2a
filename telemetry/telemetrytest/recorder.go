package telemetrytest

import (
	"context"
	"slices"
	"sync"
	"time"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
)

// Recorder remembers every event, in the order in which they came. Its zero value is ready; it is for many goroutines.
type Recorder struct {
	mu      sync.Mutex
	told    Told
	changed chan struct{} // closed and replaced at each event; nil: nobody waits
}

// Told is what a Recorder was told.
type Told struct {
	Steps      []telemetry.StepFinished
	Runs       []telemetry.RunFinished
	Calls      []provider.Call
	Fallbacks  []Fallback
	Breakers   []Breaker
	Duplicates []Step
	Parked     []Parked
	Queues     []telemetry.QueueSizes
	Fleets     []telemetry.Fleet
	Sweeps     []Sweep
	Drains     []Drain
}

// Fallback is a change from one provider to the next.
type Fallback struct {
	From, To provider.Name
	Kind     provider.Kind
}

// Breaker is a change of a breaker.
type Breaker struct {
	Provider provider.Name
	Model    executor.ModelVersion
	Open     bool
}

// Step names a step of a flow.
type Step struct {
	Flow string
	Step executor.StepID
}

// Parked is a step that was put back for a time.
type Parked struct {
	Step
	Wait time.Duration
}

// Sweep is what the sweeper mended at one time.
type Sweep struct {
	Queue, Found string
	Steps        int
}

// Drain is how the steps in flight ended at a shutdown.
type Drain struct{ Finished, Requeued, Cut int }

var _ telemetry.Observer = (*Recorder)(nil)

// Told returns a copy of what was told so far.
func (r *Recorder) Told() Told {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told.clone()
}

// Reset forgets everything.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = Told{}
}

// Wait returns what was told as soon as done says that it suffices, or the context's error. done is called with each new
// state, by the caller's goroutine.
func (r *Recorder) Wait(ctx context.Context, done func(Told) bool) (Told, error) {
	for {
		r.mu.Lock()
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		told, changed := r.told.clone(), r.changed
		r.mu.Unlock()
		if done(told) {
			return told, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return told, ctx.Err()
		}
	}
}

func (t Told) clone() Told {
	t.Steps = slices.Clone(t.Steps)
	t.Runs = slices.Clone(t.Runs)
	t.Calls = slices.Clone(t.Calls)
	t.Fallbacks = slices.Clone(t.Fallbacks)
	t.Breakers = slices.Clone(t.Breakers)
	t.Duplicates = slices.Clone(t.Duplicates)
	t.Parked = slices.Clone(t.Parked)
	t.Queues = slices.Clone(t.Queues)
	t.Fleets = slices.Clone(t.Fleets)
	t.Sweeps = slices.Clone(t.Sweeps)
	t.Drains = slices.Clone(t.Drains)
	return t
}

func (r *Recorder) tell(add func(*Told)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add(&r.told)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// StepFinished remembers a settled step.
func (r *Recorder) StepFinished(_ context.Context, s telemetry.StepFinished) {
	s.Tokens = slices.Clone(s.Tokens)
	r.tell(func(t *Told) { t.Steps = append(t.Steps, s) })
}

// StepDuplicate remembers an unneeded delivery.
func (r *Recorder) StepDuplicate(_ context.Context, flow string, step executor.StepID) {
	r.tell(func(t *Told) { t.Duplicates = append(t.Duplicates, Step{flow, step}) })
}

// StepParked remembers a step that was put back.
func (r *Recorder) StepParked(_ context.Context, flow string, step executor.StepID, wait time.Duration) {
	r.tell(func(t *Told) { t.Parked = append(t.Parked, Parked{Step{flow, step}, wait}) })
}

// RunFinished remembers a finished run.
func (r *Recorder) RunFinished(_ context.Context, f telemetry.RunFinished) {
	r.tell(func(t *Told) { t.Runs = append(t.Runs, f) })
}

// CallFinished remembers a call to a provider.
func (r *Recorder) CallFinished(_ context.Context, c provider.Call) {
	r.tell(func(t *Told) { t.Calls = append(t.Calls, c) })
}

// FellBack remembers a change to the next provider.
func (r *Recorder) FellBack(_ context.Context, from, to provider.Name, kind provider.Kind) {
	r.tell(func(t *Told) { t.Fallbacks = append(t.Fallbacks, Fallback{from, to, kind}) })
}

// BreakerChanged remembers a change of a breaker.
func (r *Recorder) BreakerChanged(n provider.Name, model executor.ModelVersion, open bool) {
	r.tell(func(t *Told) { t.Breakers = append(t.Breakers, Breaker{n, model, open}) })
}

// QueueSizes remembers the sizes of one queue.
func (r *Recorder) QueueSizes(q telemetry.QueueSizes) {
	r.tell(func(t *Told) { t.Queues = append(t.Queues, q) })
}

// Fleet remembers what a worker said of itself.
func (r *Recorder) Fleet(f telemetry.Fleet) {
	f.StraysByStep = slices.Clone(f.StraysByStep)
	r.tell(func(t *Told) { t.Fleets = append(t.Fleets, f) })
}

// Swept remembers what the sweeper mended.
func (r *Recorder) Swept(queue, found string, n int) {
	r.tell(func(t *Told) { t.Sweeps = append(t.Sweeps, Sweep{queue, found, n}) })
}

// Drained remembers how the steps in flight ended.
func (r *Recorder) Drained(finished, requeued, cut int) {
	r.tell(func(t *Told) { t.Drains = append(t.Drains, Drain{finished, requeued, cut}) })
}
