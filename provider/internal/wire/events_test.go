package wire

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type seenEvent struct{ Type, Data string }

func readAll(r io.Reader) (events []seenEvent, torn bool, err error) {
	b := newBounded(r, maxBody)
	src := newEventSource(b)
	for ev := range b.events(src) {
		events = append(events, seenEvent{ev.Type, ev.Data})
	}
	return events, src.torn, b.err
}

func TestEventsOfAStream(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		want         []seenEvent
		torn         bool
	}{
		{"nothing", "", nil, false},
		{"line feeds", "data: a\n\ndata: b\n\n", []seenEvent{{"", "a"}, {"", "b"}}, false},
		{"carriage returns", "data: a\r\rdata: b\r\r", []seenEvent{{"", "a"}, {"", "b"}}, false},
		{"both", "data: a\r\n\r\ndata: b\r\n\r\n", []seenEvent{{"", "a"}, {"", "b"}}, false},
		{"mixed", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", []seenEvent{{"", "a"}, {"", "b"}, {"", "c"}}, false},
		{"name", "event: e\ndata: a\n\n", []seenEvent{{"e", "a"}}, false},
		{"two lines of data", "data: a\ndata: b\n\n", []seenEvent{{"", "a\nb"}}, false},
		{"comments and pings", ":\n\n: ping\n\ndata: a\n\n:\n\n", []seenEvent{{"", "a"}}, false},
		{"no blank after the colon", "data:a\n\n", []seenEvent{{"", "a"}}, false},
		{"byte order mark", "\xEF\xBB\xBFdata: a\n\n", []seenEvent{{"", "a"}}, false},
		{"last event without its blank line", "data: a\n\ndata: b\n", []seenEvent{{"", "a"}, {"", "b"}}, true},
		{"last event without any line end", "data: a\n\ndata: b", []seenEvent{{"", "a"}, {"", "b"}}, true},
		{"the same with carriage returns", "data: a\r\rdata: b\r", []seenEvent{{"", "a"}, {"", "b"}}, true},
		{"a torn comment", "data: a\n\n: pi", []seenEvent{{"", "a"}}, true},
		{"a torn field name", "data: a\n\nda", []seenEvent{{"", "a"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for kind, r := range map[string]io.Reader{
				"whole": strings.NewReader(c.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(c.stream)),
				"end with data": iotest.DataErrReader(strings.NewReader(c.stream)),
			} {
				got, torn, err := readAll(r)
				if diff := cmp.Diff(c.want, got); diff != "" || torn != c.torn || err != nil {
					t.Errorf("%s: torn %v, error %v (-want +got):\n%s", kind, torn, err, diff)
				}
			}
		})
	}
}

// Where a stream is cut into packets must not matter.
func FuzzEventsDoNotDependOnPackets(f *testing.F) {
	for _, s := range []string{"data: a\n\ndata: b", "event: x\r\ndata: 1\r\n\r\n: c\r\n\r\n", "data: a\r\rid: 1\r\r\ndata\n\n", "\n\r\n\rdata:\n"} {
		f.Add(s, uint8(1))
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream string, size uint8) {
		want, wantTorn, _ := readAll(strings.NewReader(stream))
		got, torn, err := readAll(&pieces{stream, int(size%16) + 1})
		if diff := cmp.Diff(want, got); diff != "" || torn != wantTorn || err != nil {
			t.Errorf("torn %v, want %v, error %v (-want +got):\n%s", torn, wantTorn, err, diff)
		}
	})
}

// pieces reads a text a few bytes at a time.
type pieces struct {
	rest string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// The parser scans an unfinished event from its start at each read, so reads must be few, however the bytes come.
func TestLongEventInSmallPiecesIsReadInFewReads(t *testing.T) {
	const size = 1 << 20
	src := newEventSource(newBounded(&pieces{"data: " + strings.Repeat("x", size) + "\n\n", 10}, maxBody))
	reads := 0
	buf := make([]byte, 4096)
	for have := 0; ; reads++ {
		n, err := src.Read(buf[have:])
		if err != nil {
			break
		}
		if have += n; have == len(buf) { // as the parser's scanner grows its buffer
			buf = slices.Concat(buf, make([]byte, len(buf)))
		}
	}
	if reads > 16 {
		t.Errorf("%d reads for one event", reads)
	}
}

func TestEventIsHandedOutWhenItIsComplete(t *testing.T) {
	first, second := "data: a\n\n", "data: b\n\n"
	src := newEventSource(newBounded(io.MultiReader(strings.NewReader(first), iotest.ErrReader(errors.New("no more"))), maxBody))
	buf := make([]byte, len(first)+len(second))
	n, err := src.Read(buf)
	if got := string(buf[:n]); got != first || err != nil {
		t.Errorf("read = %q, %v; want the first event without waiting for another", got, err)
	}
}

func TestBrokenStreamKeepsItsError(t *testing.T) {
	broken := errors.New("reset")
	events, _, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if diff := cmp.Diff([]seenEvent{{"", "a"}}, events); diff != "" || !errors.Is(err, broken) {
		t.Errorf("error = %v (-want +got):\n%s", err, diff)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	event := "data: " + strings.Repeat("x", 1<<20) + "\n\n"
	for name, stream := range map[string]string{
		"one endless line":   "data: " + strings.Repeat("x", maxEvent),
		"one endless event":  strings.Repeat("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", maxEvent/40),
		"many events":        strings.Repeat(event, maxBody>>20),
		"pings without end":  strings.Repeat(": ping\n\n", maxBody/8+1),
		"blank without end":  strings.Repeat("\n", maxBody+1),
		"a name without end": strings.Repeat("d", maxEvent+1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := readAll(strings.NewReader(stream)); !errors.Is(err, errTooLarge) {
				t.Errorf("error = %v, want %v", err, errTooLarge)
			}
		})
	}
}
