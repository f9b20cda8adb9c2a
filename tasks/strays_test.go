package tasks

import (
	"context"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"fourfold/executor"
	"fourfold/flow"
)

// notesOf are those of a step whose attempts end by end alone.
func notesOf(t *testing.T, s *strays, step string, end <-chan struct{}) *notes {
	t.Helper()
	b, err := flow.Load(fstest.MapFS{
		"f.yaml": {Data: []byte("flow: f\nsteps:\n  - {id: " + step + ", handler: h, budget: {attempts: 1, per_attempt: 1s, total: 1s}}\n")},
	}, "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	j := &job{bundle: b, step: b.Flow().Steps[0]}
	return &notes{strays: s, job: j, attempt: func(context.Context) (executor.Reply[value], error) {
		<-end
		return executor.Reply[value]{}, nil
	}}
}

func TestAnAttemptThatIsLeftBehindIsAStrayOfItsStep(t *testing.T) {
	for name, c := range map[string]struct {
		attempts int
		ends     bool // before its time is over
		cut      bool
		want     int64
	}{
		"it ends in time":                  {attempts: 1, ends: true},
		"its time is over":                 {attempts: 1, want: 1},
		"the time of each of three is":     {attempts: 3, want: 3},
		"the caller's context ends before": {attempts: 1, cut: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, end := newStrays(), make(chan struct{})
				n := notesOf(t, s, "slow", end)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.ends {
					close(end)
				}
				if c.cut {
					time.AfterFunc(time.Millisecond, cancel)
				}
				p, err := executor.Prepare(executor.Step[value]{
					ID: n.job.step.ID, Attempt: n.try, Budget: executor.Budget{Attempts: c.attempts, PerAttempt: time.Second, Total: time.Hour},
					OnFailure: func(int, executor.Failure) { n.leaveBehind() },
				})
				if err != nil {
					t.Fatal(err)
				}
				_, _ = n.end(p.Run(ctx))
				got := s.list()
				if c.want == 0 {
					if got == nil || len(got) != 0 {
						t.Fatalf("after the end: %v", got)
					}
					return
				}
				if len(got) != 1 || got[0].Flow != "f" || got[0].Step.String() != "slow" || got[0].Strays != c.want {
					t.Fatalf("after the end: %v, want %d", got, c.want)
				}
				close(end)
				synctest.Wait()
				if got := s.list(); len(got) != 0 {
					t.Fatalf("after the attempts: %v", got)
				}
			})
		})
	}
}
