package telemetrytest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fourfold/executor"
	"fourfold/telemetry"
)

func TestRecorderWaitsForWhatIsToldLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Recorder
		go func() {
			for range 3 {
				time.Sleep(time.Second)
				r.StepFinished(t.Context(), telemetry.StepFinished{Worst: executor.OutcomeOK})
			}
		}()
		begin := time.Now()
		told, err := r.Wait(t.Context(), func(told Told) bool { return len(told.Steps) == 2 })
		if err != nil || len(told.Steps) != 2 || time.Since(begin) != 2*time.Second {
			t.Errorf("%v: %d steps after %v", err, len(told.Steps), time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		told, err = r.Wait(ctx, func(told Told) bool { return len(told.Steps) == 4 })
		if !errors.Is(err, context.DeadlineExceeded) || len(told.Steps) != 3 {
			t.Errorf("%v: %d steps", err, len(told.Steps))
		}
	})
}

func TestRecorderKeepsNothingThatItsTellerMayChange(t *testing.T) {
	var r Recorder
	tokens := []telemetry.ProviderTokens{{Usage: executor.Tokens(1, 1)}}
	r.StepFinished(t.Context(), telemetry.StepFinished{Tokens: tokens})
	tokens[0].Usage = executor.Tokens(2, 2)
	told := r.Told()
	if told.Steps[0].Tokens[0].Usage != executor.Tokens(1, 1) {
		t.Error("the slice of the event is kept")
	}
	r.Reset()
	if len(told.Steps) != 1 || len(r.Told().Steps) != 0 {
		t.Error("Reset reaches what was handed out, or not what is kept")
	}
}
