package executor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fourfold/executor"
)

type key struct{}

// keep runs a step of one attempt that plays as given, and returns the context that the attempt had.
func keep(ctx context.Context, t *testing.T, play func(context.Context) (reply, error)) (context.Context, error) {
	t.Helper()
	kept := make(chan context.Context, 1)
	s := newStep(func(ctx context.Context) (reply, error) {
		kept <- ctx
		return play(ctx)
	})
	s.Budget.Attempts = 1
	_, err := executor.Run(ctx, s)
	return <-kept, err
}

func TestTheAttemptsContextEndsWhenRunStopsWaiting(t *testing.T) {
	asks := func(play func(context.Context) (reply, error)) func(context.Context) (reply, error) {
		return func(ctx context.Context) (reply, error) {
			if ctx.Err() != nil {
				t.Error("it has ended before")
			}
			select {
			case <-ctx.Done():
				t.Error("it is done before")
			default:
			}
			return play(ctx)
		}
	}
	cause := errors.New("cause")
	tests := []struct {
		name        string
		play        func(context.Context) (reply, error)
		interrupted bool
		want        error
		wantCause   error
	}{
		{"answered", asks(answers("a")), false, context.Canceled, context.Canceled},
		{"answered without a question", answers("a"), false, context.Canceled, context.Canceled},
		{"timed out", asks(hangs), false, context.DeadlineExceeded, context.DeadlineExceeded},
		{"timed out without a question", takes(11*time.Second, answers("a")), false, context.DeadlineExceeded, context.DeadlineExceeded},
		{"interrupted", asks(hangs), true, context.Canceled, cause},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
				defer cancel(nil)
				if tt.interrupted {
					time.AfterFunc(time.Second, func() { cancel(cause) })
				}
				ctx, _ := keep(parent, t, tt.play)
				if ctx.Err() != tt.want || context.Cause(ctx) != tt.wantCause {
					t.Errorf("ended with %v, because of %v; want %v, %v", ctx.Err(), context.Cause(ctx), tt.want, tt.wantCause)
				}
				select {
				case <-ctx.Done():
				default:
					t.Error("it is not done")
				}
				if got := ctx.Value(key{}); got != "value" {
					t.Errorf("value is %v", got)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// Contexts that an attempt derives end with it, without a goroutine each: one that is left would keep
// the bubble from ending.
func TestDerivedContextsEndWithTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			child, grandchild, stopped context.Context
			after                      = make(chan string, 3)
		)
		ctx, _ := keep(t.Context(), t, func(ctx context.Context) (reply, error) {
			var cancelChild, cancelGrandchild, cancel context.CancelFunc
			child, cancelChild = context.WithCancel(ctx)
			grandchild, cancelGrandchild = context.WithTimeout(child, never)
			t.Cleanup(cancelChild) // long after they must have ended
			t.Cleanup(cancelGrandchild)
			stopped, cancel = context.WithCancel(context.WithValue(ctx, key{}, 1))
			cancel()
			context.AfterFunc(ctx, func() { after <- "called" })
			stop := context.AfterFunc(ctx, func() { after <- "called though it was stopped" })
			if !stop() || stop() {
				t.Error("stop does not say that it was the first to stop")
			}
			return answers("a")(ctx)
		})
		for name, c := range map[string]context.Context{"child": child, "grandchild": grandchild, "stopped": stopped} {
			if c.Err() != context.Canceled {
				t.Errorf("%s: %v, want Canceled when Run has returned", name, c.Err())
			}
		}
		if got := <-after; got != "called" {
			t.Errorf("got %s", got)
		}
		late, cancel := context.WithCancel(ctx)
		defer cancel()
		if late.Err() != context.Canceled {
			t.Errorf("derived afterwards: %v, want Canceled", late.Err())
		}
		context.AfterFunc(ctx, func() { after <- "afterwards" })
		if got := <-after; got != "afterwards" {
			t.Errorf("got %s", got)
		}
		synctest.Wait()
		if len(after) > 0 {
			t.Error(<-after)
		}
	})
}

// The AfterFunc method itself is called by package context alone; it keeps that package's promises.
func TestAfterFuncOfAnEndedAttempt(t *testing.T) {
	ctx, _ := keep(t.Context(), t, answers("a"))
	called := make(chan struct{})
	var mu sync.Mutex
	mu.Lock() // package context holds a lock here that the function takes
	stop := ctx.(interface{ AfterFunc(func()) func() bool }).AfterFunc(func() { mu.Lock(); close(called) })
	mu.Unlock()
	<-called
	if stop() {
		t.Error("stop says that it stopped what was called")
	}
}

func TestTheAttemptsContextMayBeAskedByManyAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked sync.WaitGroup
		s := newStep(func(ctx context.Context) (reply, error) {
			for range 8 {
				asked.Go(func() {
					child, cancel := context.WithCancel(ctx)
					defer cancel()
					<-child.Done()
					if ctx.Err() != context.DeadlineExceeded {
						t.Errorf("got %v, want DeadlineExceeded", ctx.Err())
					}
				})
			}
			return hangs(ctx)
		})
		s.Budget.Attempts = 1
		mustRun(t, s)
		asked.Wait()
	})
}

// It may be printed while it is used: printing must not read what others write, and shows no value.
func TestTheAttemptsContextPrintsAsAName(t *testing.T) {
	ctx, _ := keep(context.WithValue(t.Context(), key{}, textError("secret")), t, answers("a"))
	for _, format := range []string{"%v", "%+v", "%s"} {
		if got, want := fmt.Sprintf(format, ctx), "executor.attempt"; got != want {
			t.Errorf("%s: got %s, want %s", format, got, want)
		}
	}
}
