package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
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
				if len(s.heard) > 0 {
					t.Fatal("the slot would tell its next user of this answer")
				}
			}
		})
	}
}

// endsLate is a context that ends when a pause is over too.
type endsLate struct{ context.Context }

func (c endsLate) Done() <-chan struct{} {
	time.Sleep(time.Microsecond)
	return c.Context.Done()
}

func TestAnInterruptedPauseIsNotHeardAgain(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	s := newSlot()
	for range 500 { // select picks at random among what is ready
		s.sleep(endsLate{ended}, 0)
		if s.sleep(ended, time.Hour) {
			t.Fatal("the next pause ended with the word of the one before")
		}
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

// endedUnseen is a context that ends between the check and the race: before the attempt's goroutine has
// begun, as a rule.
type endedUnseen struct{ context.Context }

func (endedUnseen) Err() error { return nil }

// Many steps at a time on reused slots, with attempts that hang, panic, fail and are left behind before
// they begin among them: each gets its own answer and nobody else's, and is made once.
func TestReusedSlotsMixNothingUp(t *testing.T) {
	const workers, steps, kinds = 8, 300, 5
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	before := Strays()
	release := make(chan struct{})
	var working, made sync.WaitGroup
	step := func(name string, kind int) Step[string] {
		plays := []func() (Reply[string], error){
			func() (Reply[string], error) { return Reply[string]{Value: name}, nil },
			func() (Reply[string], error) { <-release; return Reply[string]{Value: "late"}, nil },
			func() (Reply[string], error) { panic(name) },
			func() (Reply[string], error) { return Reply[string]{Value: name}, Failure{Class: ClassSchema} },
			func() (Reply[string], error) { return Reply[string]{Value: "unseen"}, nil },
		}
		var once atomic.Bool
		made.Add(1)
		s := Step[string]{ID: MustStepID("a"), Budget: Budget{Attempts: 1, PerAttempt: time.Hour, Total: time.Hour}}
		s.Attempt = func(context.Context) (Reply[string], error) {
			if !once.CompareAndSwap(false, true) {
				t.Errorf("%s: made twice", name)
			} else {
				made.Done()
			}
			return plays[kind]()
		}
		if kind == 1 {
			s.Budget.PerAttempt = time.Nanosecond // however slow the machine: the attempt takes longer
		}
		return s
	}
	ends := []string{"OK none", "FAILED timeout", "FAILED parse", "FAILED schema", "interrupted"}
	for w := range workers {
		working.Go(func() {
			for i := range steps {
				name, kind, ctx := fmt.Sprint(w, "/", i), i%kinds, t.Context()
				if kind == 4 {
					ctx = endedUnseen{ended}
				}
				r, err := Run(ctx, step(name, kind))
				got := "interrupted"
				if err == nil {
					got = r.Envelope().Outcome.String() + " " + r.Envelope().FailureClass.String()
				}
				if u, ok := r.(Usable[string]); ok && kind == 4 && u.Value() == "unseen" {
					continue // it was that quick
				} else if got != ends[kind] || ok && u.Value() != name {
					t.Errorf("%s: got %s, %v, want %s", name, got, err, ends[kind])
				}
			}
		})
	}
	working.Wait()
	if got, least := Strays()-before, int64(workers*steps/kinds); got < least {
		t.Errorf("%d strays, want the %d that hang and perhaps some that have not begun", got, least)
	}
	close(release)
	made.Wait()
	for Strays() != before { // they have a last step to make after their attempt has returned
		runtime.Gosched()
	}
}

func TestAnInterruptionWithoutACauseStillMatches(t *testing.T) {
	if !errors.Is(&InterruptedError{}, ErrInterrupted) {
		t.Error("it does not")
	}
}
