package executor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// The states of a flight.
const (
	running uint32 = iota
	answered
	abandoned
)

// flight is the context of one attempt, and the state of its race. It is a context of its own, and not
// one of package context, because most of what that would allocate is needed only by attempts that
// wait for something, and because its end is decided by Run, which races a timer anyway.
//
// A flight is never reused: an attempt may leave goroutines behind that hold it.
type flight struct {
	parent   context.Context //nolint:containedctx // it is a context itself
	deadline time.Time
	state    atomic.Uint32

	mu     sync.Mutex
	err    error
	done   chan struct{} // made when somebody asks
	afters map[*func()]struct{}
}

// open prepares the flight for an attempt whose time is over at deadline.
func (f *flight) open(parent context.Context, deadline time.Time) {
	f.parent, f.deadline = parent, deadline
	if d, ok := parent.Deadline(); ok && d.Before(f.deadline) {
		f.deadline = d
	}
}

// settle moves the flight out of running and reports whether it was the first to do so.
func (f *flight) settle(to uint32) bool { return f.state.CompareAndSwap(running, to) }

// end ends the context with err, unless it has ended.
func (f *flight) end(err error) {
	f.mu.Lock()
	if f.err != nil {
		f.mu.Unlock()
		return
	}
	f.err = err
	if f.done != nil {
		close(f.done)
	}
	afters := f.afters
	f.afters = nil
	f.mu.Unlock()
	for after := range afters {
		(*after)()
	}
}

// Deadline returns the end of the attempt's time, or that of the caller's context if it is earlier.
func (f *flight) Deadline() (time.Time, bool) { return f.deadline, true }

// Done returns a channel that is closed when Run stops waiting for the attempt.
func (f *flight) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done == nil {
		f.done = make(chan struct{})
		if f.err != nil {
			close(f.done)
		}
	}
	return f.done
}

// Err returns nil until Run stops waiting; then DeadlineExceeded if the time was over, the error of the
// caller's context if that ended, and Canceled once the attempt has answered.
func (f *flight) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Value asks the caller's context.
func (f *flight) Value(key any) any { return f.parent.Value(key) }

// String keeps printers from reading the fields, which others may write at that time.
func (f *flight) String() string { return "executor.attempt" }

// AfterFunc is what package context asks of a foreign context, so that no goroutine is needed for each
// context that derives from it. The functions that it passes do not block, so end calls them itself.
func (f *flight) AfterFunc(after func()) (stop func() bool) {
	key := &after
	f.mu.Lock()
	if f.err != nil {
		f.mu.Unlock()
		go after() // package context holds a lock here that after needs
		return func() bool { return false }
	}
	if f.afters == nil {
		f.afters = make(map[*func()]struct{})
	}
	f.afters[key] = struct{}{}
	f.mu.Unlock()
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, waiting := f.afters[key]
		delete(f.afters, key)
		return waiting
	}
}
