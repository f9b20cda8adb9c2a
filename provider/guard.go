package provider

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"sync/atomic"
	"time"

	"fourfold/executor"
)

// Timeouts bound one call; zero means no bound but the attempt's. They are counted from when the call is made, after any wait
// at the gate. FirstToken and Idle count tokens, not bytes: a stream of pings is silent. They bound streamed calls only.
type Timeouts struct {
	Total      time.Duration
	FirstToken time.Duration
	Idle       time.Duration // between tokens, and between the last one and the end
}

// GuardConfig is what Guard puts around a client.
type GuardConfig struct {
	ModelProvider ModelProvider
	Model         executor.ModelVersion // configured; for records of failed calls
	Timeouts      Timeouts
	Stream        bool     // answer Complete by streaming, so that the token timers work
	Breaker       *Breaker // nil: none
	Gate          Gate     // nil: no limit
	Observer      Observer // nil: nobody is told
}

// Guard returns c with timeouts, breaker, fleet limits and records around every call.
//
// A call returns when its time is over or its context has ended even if c ignores both; what c brings later is dropped, and
// touches nothing. A call that c leaves running is counted by Strays until it ends. Each call that is made is one Call told
// to the observer, whatever becomes of it; one that breaker or gate keep from being made is none. The errors are an Error, or
// *executor.Parked from the gate, or *executor.PanicError when c panics: errors of other types that c returns are judged.
//
// A 429 that says when to come back closes the gate and the breaker until then.
func Guard(c Client, cfg GuardConfig) Client { return &guard{Client: c, cfg: cfg} }

type guard struct {
	Client
	cfg GuardConfig
}

var strays atomic.Int64

// Strays returns how many calls, process wide, guards stopped waiting for and that still run. A number that keeps growing
// means a client that ignores its context.
func Strays() int64 { return strays.Load() }

// opensAt says when the breaker lets calls through again; false: it does now.
func (g *guard) opensAt(now time.Time) (time.Time, bool) {
	if g.cfg.Breaker == nil {
		return time.Time{}, false
	}
	return g.cfg.Breaker.opensAt(now)
}

// Complete makes one call. See Guard.
func (g *guard) Complete(ctx context.Context, req Request) (Response, error) {
	if g.cfg.Stream {
		return g.completeByStream(ctx, req)
	}
	c, err := g.begin(ctx)
	if err != nil {
		return Response{}, err
	}
	defer c.end()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()

	answers := make(chan pair, 1)
	leave := c.watch(func() {
		answer, err := g.Client.Complete(inner, req)
		answers <- pair{Chunk{Done: &answer}, err}
	}, func(err error) { answers <- pair{err: err} })
	defer leave()

	var total alarm
	total.set(g.cfg.Timeouts.Total)
	defer total.stop()
	var got pair
	select {
	case got = <-answers:
	case <-total.c:
		got = late(answers, c.judge(Signal{Seen: SeenTimeout}))
	case <-ctx.Done():
		got = late(answers, c.judge(FromError(ctx, context.Cause(ctx))))
	}
	return c.settle(got)
}

// completeByStream makes one call as a stream, and returns its end.
func (g *guard) completeByStream(ctx context.Context, req Request) (Response, error) {
	for chunk, err := range g.Stream(ctx, req) {
		if err != nil {
			var paid Response
			if chunk.Done != nil {
				paid = *chunk.Done
			}
			return paid, err
		}
		if chunk.Done != nil {
			return *chunk.Done, nil
		}
	}
	return Response{}, Judge(Signal{Provider: g.Name(), Seen: SeenCut}) // Stream always ends in one or the other
}

// Stream makes one call. See Guard.
func (g *guard) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		c, err := g.begin(ctx)
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		defer c.end()
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		pairs := make(chan pair)
		leave := c.watch(func() { c.pump(inner, req, pairs) }, func(err error) { send(inner, pairs, pair{err: err}) })
		defer leave()
		c.relay(ctx, pairs, yield)
	}
}

// pair is what a stream yields at once.
type pair struct {
	chunk Chunk
	err   error
}

// send hands a pair to who listens; false: nobody does any more.
func send(ctx context.Context, pairs chan<- pair, p pair) bool {
	select {
	case pairs <- p:
		return true
	case <-ctx.Done():
		return false
	}
}

// ends reports whether nothing comes after the pair.
func (p pair) ends() bool { return p.err != nil || p.chunk.Done != nil }

// late looks at the channel once more when a call is over: of two that are ready, select picks at random. What is there counts if
// it is the end.
func late(pairs <-chan pair, over error) pair {
	select {
	case p := <-pairs:
		if p.ends() {
			return p
		}
	default:
	}
	return pair{err: over}
}

// alarm is a timer that never rings while its time is zero.
type alarm struct {
	timer *time.Timer
	c     <-chan time.Time // nil: never
}

// set makes the alarm ring after a time from now, and not at what was set before.
func (a *alarm) set(after time.Duration) {
	switch {
	case after <= 0:
		a.stop() // and nothing is left in the channel
		return
	case a.timer == nil:
		a.timer = time.NewTimer(after)
	default:
		a.timer.Reset(after)
	}
	a.c = a.timer.C
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// panicked keeps of a panic only the type of its value; nil means that the goroutine was ended.
func panicked(recovered any) error {
	if recovered == nil {
		return &executor.PanicError{Type: "runtime.Goexit"}
	}
	t := reflect.TypeOf(recovered)
	if t.Name() != "" || t.Kind() == reflect.Pointer && t.Elem().Name() != "" {
		return &executor.PanicError{Type: t.String()}
	}
	return &executor.PanicError{Type: t.Kind().String()} // the text of a type without a name may hold field tags
}

// typed makes an Error of whatever a client returned. A client of ours returns nothing else; one of somebody else's may leak
// an error of the transport, or one that nobody knows: that is an answer that was not understood.
func typed(ctx context.Context, n Name, err error) error {
	if _, ok := AsError(err); ok {
		return err
	}
	if _, ok := errors.AsType[*executor.Parked](err); ok {
		return err
	}
	if _, ok := errors.AsType[*executor.PanicError](err); ok {
		return err
	}
	s := FromError(ctx, err)
	if s.Seen == SeenNetwork && executor.Classify(err).Class == executor.ClassParse {
		s.Seen = SeenNoAnswer
	}
	s.Provider = n
	return Judge(s)
}
