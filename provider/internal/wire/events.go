package wire

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"github.com/tmaxmax/go-sse"
)

// events yields the events of a stream until it ends, however it ends; b.err and the source's torn say how.
func (b *bounded) events(src *eventSource) iter.Seq[sse.Event] {
	return func(yield func(sse.Event) bool) {
		for ev, err := range sse.Read(src, &sse.ReadConfig{MaxEventSize: maxEvent}) {
			if errors.Is(err, bufio.ErrTooLong) {
				b.err = errTooLarge
			}
			if err != nil || !yield(ev) {
				return
			}
		}
	}
}

// eventSource feeds go-sse and adds what that parser leaves to its caller:
//   - Read returns only with the end of an event, with a full buffer or at the end of the stream. The parser scans
//     an unfinished event again from its start at every read, so a long one in small pieces would cost its square.
//   - A stream that ends without its last blank line gets one, or its last event would be lost; often that is the
//     one with the finish reason.
type eventSource struct {
	b       *bounded
	fresh   bool   // at the start of a line
	afterCR bool   // a line feed now is the second half of a line end
	open    bool   // inside an event
	torn    bool   // the stream ended inside an event
	tail    string // what is still to be added
	over    bool
}

func newEventSource(b *bounded) *eventSource { return &eventSource{b: b, fresh: true} }

func (s *eventSource) Read(p []byte) (n int, err error) {
	if s.over {
		n = copy(p, s.tail)
		if s.tail = s.tail[n:]; n == 0 {
			err = io.EOF
		}
		return n, err
	}
	for n < len(p) {
		m, err := s.b.Read(p[n:])
		ended := s.scan(p[n : n+m])
		n += m
		if errors.Is(err, io.EOF) {
			s.over, s.torn, s.tail = true, s.open, "\n\n"
			return n, nil
		}
		if err != nil || ended {
			return n, err
		}
	}
	return n, nil
}

// scan follows line ends (LF, CRLF, CR) and says whether an event ended within p.
func (s *eventSource) scan(p []byte) (ended bool) {
	for _, c := range p {
		switch {
		case c == '\n' && s.afterCR:
		case c == '\n' || c == '\r':
			if s.fresh {
				ended, s.open = true, false
			}
			s.fresh = true
		default:
			s.fresh, s.open = false, true
		}
		s.afterCR = c == '\r'
	}
	return ended
}
