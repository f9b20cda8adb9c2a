package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inHand is an attempt whose answer is there when Run has just been told that the time is over.
type inHand struct {
	flight
	answers chan struct{}
}

func (*inHand) work() {}

func (h *inHand) settle(to uint32) bool {
	if to == abandoned {
		<-h.answers // Run asks: by now the goroutine has answered
		return h.flight.settle(to)
	}
	defer close(h.answers)
	return h.flight.settle(to)
}

func TestAnAnswerInHandWinsOverTimerAndContext(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		wait time.Duration
	}{
		{"timer", context.Background(), 0},
		{"context", ended, time.Hour},
		{"both", ended, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 200 { // select picks at random among what is ready
				before := Strays()
				s, h := newSlot(), &inHand{answers: make(chan struct{})}
				h.open(tt.ctx, time.Time{})
				if got := s.race(tt.ctx, h, tt.wait); got != wonByAnswer {
					t.Fatalf("won by %d, want the answer", got)
				}
				if got := Strays() - before; got != 0 {
					t.Fatalf("%d strays", got)
				}
				if len(s.answered) > 0 {
					t.Fatal("the slot would tell its next user of this answer")
				}
			}
		})
	}
}

func TestSlotsAreSharedOnlyOutsideOfBubbles(t *testing.T) {
	if !shared(time.Now()) {
		t.Error("not shared outside of bubbles")
	}
	synctest.Test(t, func(t *testing.T) {
		if shared(time.Now()) {
			t.Error("shared within a bubble")
		}
	})
}

// Many steps at a time on reused slots, with attempts that hang, panic, fail and end their goroutine
// among them: each gets its own answer and nobody else's.
func TestReusedSlotsMixNothingUp(t *testing.T) {
	const workers, steps = 8, 300
	before := Strays()
	release := make(chan struct{})
	var hanging, working sync.WaitGroup
	step := func(name string, i int) Step[string] {
		s := Step[string]{ID: MustStepID("a"), Budget: Budget{Attempts: 1, PerAttempt: time.Hour, Total: time.Hour}}
		s.Attempt = func(context.Context) (Reply[string], error) { return Reply[string]{Value: name}, nil }
		switch i % 5 {
		case 1:
			hanging.Add(1)
			s.Budget.PerAttempt = time.Nanosecond // however slow the machine: the attempt takes longer
			s.Attempt = func(context.Context) (Reply[string], error) {
				defer hanging.Done()
				<-release
				return Reply[string]{Value: "late"}, nil
			}
		case 2:
			s.Attempt = func(context.Context) (Reply[string], error) { panic(name) }
		case 3:
			s.Attempt = func(context.Context) (Reply[string], error) {
				return Reply[string]{Value: name}, Failure{Class: ClassSchema}
			}
		}
		return s
	}
	want := map[int]string{0: "OK", 1: "FAILED timeout", 2: "FAILED parse", 3: "FAILED schema", 4: "OK"}
	for w := range workers {
		working.Go(func() {
			for i := range steps {
				name := fmt.Sprint(w, "/", i)
				r, err := Run(t.Context(), step(name, i))
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				got := r.Envelope().Outcome.String()
				if class := r.Envelope().FailureClass; class != ClassNone {
					got += " " + class.String()
				}
				if u, ok := r.(Usable[string]); got != want[i%5] || ok && u.Value() != name {
					t.Errorf("%s: got %s", name, got)
				}
			}
		})
	}
	working.Wait()
	if got, want := Strays()-before, int64(workers*steps/5); got != want {
		t.Errorf("%d strays, want %d", got, want)
	}
	close(release)
	hanging.Wait()
	for Strays() != before { // they have a last step to make after their attempt has returned
		runtime.Gosched()
	}
}

func TestAnInterruptionWithoutACauseStillMatches(t *testing.T) {
	if !errors.Is(&InterruptedError{}, ErrInterrupted) {
		t.Error("it does not")
	}
}
