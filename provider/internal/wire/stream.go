package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"fourfold/provider"
)

const (
	// tailWait is how long the end of a stream is waited for once the model has said why it stopped: the usage may still
	// come. The answer is complete; a provider that then forgets to hang up must not hold it back.
	tailWait = time.Second
	// drainWait is how long the end of the body is waited for after the last event, so that the connection can be used
	// again.
	drainWait = 50 * time.Millisecond
	drainSize = 4 << 10
	doneMark  = "[DONE]"
)

// readEvents reads a stream, which a provider may also send where a whole answer was asked for.
func (a *ask) readEvents(ctx context.Context, b *bounded, h http.Header, cancel context.CancelFunc) error {
	src := newEventSource(b)
	t := &a.turn
	broken := false
	var tail *time.Timer
	for ev := range b.events(src) {
		if broken {
			return a.malformedEvent()
		}
		if ev.Data == doneMark {
			t.over = true
			break
		}
		if silent(ev.Data) {
			continue
		}
		data := []byte(ev.Data)
		reading := t.decode(data, func(p []byte, t *Turn) Reading { return a.dialect.Event(ev.Type, p, t) })
		if reading == ErrorBody || (reading == Foreign && ev.Type == "error") {
			return a.inBand(data, h)
		}
		if broken = reading == Broken; broken {
			// The last event of a stream that was cut clean is half an event: then the cut is what went wrong.
			if src.over {
				continue
			}
			return a.malformedEvent()
		}
		if !a.show() {
			return nil
		}
		if t.over {
			break
		}
		if t.complete && tail == nil {
			tail = time.AfterFunc(tailWait, cancel)
			defer tail.Stop()
		}
	}
	if t.over {
		drain(b, cancel)
	}
	return a.ended(ctx, b, src, broken)
}

// ended judges the end of a stream.
func (a *ask) ended(ctx context.Context, b *bounded, src *eventSource, broken bool) error {
	switch {
	case a.turn.complete:
		return a.settle() // whatever happened after the model had finished
	case errors.Is(b.err, errTooLarge):
		return a.oversizeEvent()
	case b.err != nil:
		return a.unread(ctx, b.err)
	case broken && !src.torn:
		return a.malformedEvent()
	}
	return a.saw(provider.SeenCut)
}

// silent says whether an event carries nothing: some servers wrap their keep-alive comments into data.
func silent(data string) bool {
	data = strings.TrimSpace(data)
	return data == "" || data == "null" || data[0] == ':'
}

// drain reads the little that may be left of a body.
func drain(b *bounded, cancel context.CancelFunc) {
	timer := time.AfterFunc(drainWait, cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, b, drainSize)
}
