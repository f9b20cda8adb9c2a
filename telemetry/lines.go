package telemetry

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// gather is how long the writing goroutine waits for more lines before it writes: one system call for all of them.
	gather = 10 * time.Millisecond
	// linesKept is how many bytes of lines wait while the output takes none; what comes then is dropped and counted.
	linesKept = 4 << 20
)

// lineWriter hands lines to an output that may block, through a buffer that never does. Write is for many goroutines; one
// goroutine of its own writes to the output. Lines that do not fit are dropped and counted.
type lineWriter struct {
	out     func([]byte) // is given whole lines
	dropped atomic.Int64

	mu      sync.Mutex
	waiting []byte // lines not yet handed to out
	closed  bool

	wake    chan struct{} // room for one: lines are waiting
	closing chan struct{} // closed by close
	done    chan struct{} // closed when all that was waiting is written
}

func newLineWriter(out func([]byte)) *lineWriter {
	w := &lineWriter{
		out:     out,
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	go w.run()
	return w
}

// Write takes one or more whole lines. It never blocks on the output and never fails.
func (w *lineWriter) Write(lines []byte) (int, error) {
	w.mu.Lock()
	if w.closed || len(w.waiting)+len(lines) > linesKept {
		w.mu.Unlock()
		w.dropped.Add(int64(bytes.Count(lines, newline)))
		return len(lines), nil
	}
	first := len(w.waiting) == 0
	w.waiting = append(w.waiting, lines...)
	w.mu.Unlock()
	if first {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return len(lines), nil
}

var newline = []byte{'\n'}

func (w *lineWriter) run() {
	defer close(w.done)
	var lines []byte
	var told int64 // dropped lines that the log has been told of
	pause := time.NewTimer(gather)
	defer pause.Stop()
	for closing := false; ; {
		select {
		case <-w.wake:
			pause.Reset(gather)
			select {
			case <-pause.C:
			case <-w.closing:
				closing = true
			}
		case <-w.closing:
			closing = true
		}
		w.mu.Lock()
		lines, w.waiting = w.waiting, lines[:0]
		w.mu.Unlock()
		if len(lines) > 0 {
			w.out(lines)
		}
		if n := w.dropped.Load(); n > told {
			w.out(droppedLine(n - told))
			told = n
		}
		if closing {
			return
		}
	}
}

// close makes later lines be dropped, writes what is waiting and returns when it is written or within has passed. An output
// that blocks for ever keeps its goroutine: nothing can end it.
func (w *lineWriter) close(within time.Duration) {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.closing)
	}
	w.mu.Unlock()
	select {
	case <-w.done:
	case <-time.After(within):
	}
}

func droppedLine(n int64) []byte {
	b := append([]byte(`{"level":"warn","timestamp":"`), stamp(time.Now())...)
	b = append(b, `","lines":`...)
	b = strconv.AppendInt(b, n, 10)
	return append(b, `,"message":"log lines dropped: the output did not take them"}`+"\n"...)
}

// writeTo returns an output that writes batches of lines to w. A failing w is nobody's business but its owner's.
func writeTo(w io.Writer) func([]byte) {
	return func(lines []byte) { _, _ = w.Write(lines) }
}

// writeEach returns an output that calls write once for each line, as formatters need it.
func writeEach(w io.Writer) func([]byte) {
	return func(lines []byte) {
		for line := range bytes.SplitSeq(bytes.TrimSuffix(lines, newline), newline) {
			_, _ = w.Write(line)
		}
	}
}
