package tasks

import (
	"context"
	"testing"
	"testing/synctest"

	"fourfold/executor"
)

func TestAnAttemptThatOutlivesItsContextIsAStrayOfItsStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStrays()
		ctx, cancel := context.WithCancel(t.Context())
		late := s.watch(ctx, "f", executor.MustStepID("slow"))
		s.watch(ctx, "f", executor.MustStepID("quick"))()
		if got := s.list(); got == nil || len(got) != 0 {
			t.Fatalf("before the end: %v", got)
		}
		cancel()
		synctest.Wait()
		if got := s.list(); len(got) != 1 || got[0].Step.String() != "slow" || got[0].Strays != 1 {
			t.Fatalf("after the end: %v", got)
		}
		late()
		if got := s.list(); len(got) != 0 {
			t.Fatalf("after the attempt: %v", got)
		}
	})
}
