package executor_test

import (
	"context"
	"testing"
	"time"

	"fourfold/executor"
)

func noop(context.Context) (executor.Reply[string], error) {
	return executor.Reply[string]{Value: "value"}, nil
}

func benchStep() executor.Step[string] {
	return executor.Step[string]{
		ID:      executor.MustStepID("classify-tables"),
		Attempt: noop,
		Budget:  executor.Budget{Attempts: 3, PerAttempt: time.Second, Total: time.Minute},
	}
}

// cancelable is what a caller's context is in a worker: it can end.
func cancelable(b *testing.B) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	return ctx
}

// BenchmarkRun measures the executor around an attempt that does nothing; "race written down plainly"
// is the anchor to compare with: one attempt raced against its timer and nothing else.
func BenchmarkRun(b *testing.B) {
	b.Run("one attempt", func(b *testing.B) {
		ctx, step := cancelable(b), benchStep()
		b.ReportAllocs()
		for b.Loop() {
			if r, err := executor.Run(ctx, step); err != nil || r.Envelope().Attempts != 1 {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("race written down plainly", func(b *testing.B) {
		ctx := cancelable(b)
		b.ReportAllocs()
		for b.Loop() {
			if r, err := plainRace(ctx, noop, time.Second); err != nil || r.Value == "" {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("one attempt that asks its context", func(b *testing.B) {
		ctx, step := cancelable(b), benchStep()
		step.Attempt = func(ctx context.Context) (executor.Reply[string], error) {
			select {
			case <-ctx.Done():
			default:
			}
			return noop(ctx)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := executor.Run(ctx, step); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("abstained", func(b *testing.B) {
		ctx, step := cancelable(b), benchStep()
		step.Abstain = executor.AbstainWhen(func() bool { return true }, func() string { return "none" })
		b.ReportAllocs()
		for b.Loop() {
			if r, err := executor.Run(ctx, step); err != nil || r.Envelope().Attempts != 0 {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("failed at once", func(b *testing.B) {
		ctx, step := cancelable(b), benchStep()
		step.Attempt = func(context.Context) (executor.Reply[string], error) {
			return executor.Reply[string]{}, executor.Failure{Class: executor.ClassUpstream4xx}
		}
		b.ReportAllocs()
		for b.Loop() {
			if r, err := executor.Run(ctx, step); err != nil || r.Envelope().Attempts != 1 {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("in parallel", func(b *testing.B) {
		ctx, step := cancelable(b), benchStep()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := executor.Run(ctx, step); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

func plainRace(ctx context.Context, do executor.Attempt[string], wait time.Duration) (executor.Reply[string], error) {
	type answer struct {
		reply executor.Reply[string]
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, 1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	go func() {
		reply, err := do(ctx)
		answers <- answer{reply, err}
	}()
	select {
	case a := <-answers:
		return a.reply, a.err
	case <-timer.C:
		return executor.Reply[string]{}, context.DeadlineExceeded
	case <-ctx.Done():
		return executor.Reply[string]{}, ctx.Err()
	}
}

func BenchmarkEnvelope(b *testing.B) {
	ctx, step := cancelable(b), benchStep()
	r, err := executor.Run(ctx, step)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("JSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Envelope().MarshalJSON(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = r.Envelope().String()
		}
	})
}
