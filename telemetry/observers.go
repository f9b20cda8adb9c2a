package telemetry

import (
	"context"
	"time"

	"fourfold/executor"
	"fourfold/provider"
)

// Discard is the Observer that ignores what it is told.
var Discard Observer = discard{}

// Multi returns an Observer that tells each of os in turn. Nil ones are left out; with none it is [Discard].
func Multi(os ...Observer) Observer {
	var told multi
	for _, o := range os {
		if o != nil {
			told = append(told, o)
		}
	}
	switch len(told) {
	case 0:
		return Discard
	case 1:
		return told[0]
	}
	return told
}

type discard struct{}

func (discard) CallFinished(context.Context, provider.Call)                           {}
func (discard) FellBack(context.Context, provider.Name, provider.Name, provider.Kind) {}
func (discard) BreakerChanged(provider.Name, executor.ModelVersion, bool)             {}
func (discard) StepFinished(context.Context, StepFinished)                            {}
func (discard) StepDuplicate(context.Context, string, executor.StepID)                {}
func (discard) StepParked(context.Context, string, executor.StepID, time.Duration)    {}
func (discard) RunFinished(context.Context, RunFinished)                              {}
func (discard) QueueSizes(QueueSizes)                                                 {}
func (discard) Fleet(Fleet)                                                           {}
func (discard) Swept(string, string, int)                                             {}
func (discard) Drained(int, int, int)                                                 {}

type multi []Observer

func (m multi) CallFinished(ctx context.Context, c provider.Call) {
	for _, o := range m {
		o.CallFinished(ctx, c)
	}
}

func (m multi) FellBack(ctx context.Context, from, to provider.Name, kind provider.Kind) {
	for _, o := range m {
		o.FellBack(ctx, from, to, kind)
	}
}

func (m multi) BreakerChanged(n provider.Name, model executor.ModelVersion, open bool) {
	for _, o := range m {
		o.BreakerChanged(n, model, open)
	}
}

func (m multi) StepFinished(ctx context.Context, s StepFinished) {
	for _, o := range m {
		o.StepFinished(ctx, s)
	}
}

func (m multi) StepDuplicate(ctx context.Context, flow string, step executor.StepID) {
	for _, o := range m {
		o.StepDuplicate(ctx, flow, step)
	}
}

func (m multi) StepParked(ctx context.Context, flow string, step executor.StepID, wait time.Duration) {
	for _, o := range m {
		o.StepParked(ctx, flow, step, wait)
	}
}

func (m multi) RunFinished(ctx context.Context, r RunFinished) {
	for _, o := range m {
		o.RunFinished(ctx, r)
	}
}

func (m multi) QueueSizes(q QueueSizes) {
	for _, o := range m {
		o.QueueSizes(q)
	}
}

func (m multi) Fleet(f Fleet) {
	for _, o := range m {
		o.Fleet(f)
	}
}

func (m multi) Swept(queue, found string, n int) {
	for _, o := range m {
		o.Swept(queue, found, n)
	}
}

func (m multi) Drained(finished, requeued, cut int) {
	for _, o := range m {
		o.Drained(finished, requeued, cut)
	}
}
