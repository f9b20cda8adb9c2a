package doorbell

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sent is what would go to Redis, but for the time of the call.
func sent(t *testing.T, c *call, err error) []any {
	t.Helper()
	must(t, err)
	out := []any{c.script.Hash(), c.queue, c.keys}
	for _, arg := range c.words {
		if _, now := arg.(int64); now {
			arg = "the time"
		}
		out = append(out, arg)
	}
	return out
}

func TestAFormIsFilledInAsAsynqWouldHaveWrittenIt(t *testing.T) {
	t.Parallel()
	e := newEncoder()
	for _, ring := range []Ring{
		{Queue: "q", ID: "q.0123456789abcdefghjkmnpqrs:1:0:0", Payload: bytes.Repeat([]byte("p"), 150)},
		{Queue: "q", ID: "q.abcdefghjkmnpqrs0123456789:1:7:0", Payload: bytes.Repeat([]byte{0xff, 0}, 75)}, // of the same form
		{Queue: "q", ID: "q.abcdefghjkmnpqrs0123456789:1:7:0", Payload: bytes.Repeat([]byte("p"), 127)},
		{Queue: "q", ID: "q.abcdefghjkmnpqrs0123456789:1:7:0", Payload: bytes.Repeat([]byte("p"), 128)}, // its length takes a byte more
		{Queue: "another", ID: "another.0123456789:12:33.4:5", Payload: []byte("twelve bytes")},
		{Queue: "q", ID: "q.0123456789abcdefghjkmnpqrs:1:0:0", Payload: bytes.Repeat([]byte("p"), 150), Type: "somebody:else"},
	} {
		got, err := e.encode(t.Context(), ring, defaultTimeout)
		filled := sent(t, got, err)
		want, err := e.ask(t.Context(), ring, defaultTimeout)
		if diff := cmp.Diff(sent(t, want, err), filled); diff != "" {
			t.Errorf("%s, %d bytes (-asynq +form):\n%s", ring.ID, len(ring.Payload), diff)
		}
		if e.forms.held[formKey{ring.Queue, ring.Type, len(ring.ID), len(ring.Payload), defaultTimeout}] == nil {
			t.Errorf("%s, %d bytes: no form was learnt", ring.ID, len(ring.Payload))
		}
	}
	if n := len(e.forms.held); n != 5 {
		t.Errorf("%d forms were learnt of 5 kinds of rings", n)
	}
	e.client = nil // whoever asked asynq once more would panic
	_, err := e.encode(t.Context(), Ring{Queue: "q", ID: "q.ABCDEFGHJKMNPQRSTVWXYZABCD:1:0:0", Payload: make([]byte, 150)}, defaultTimeout)
	must(t, err)
}

// What has no form is asynq's to write.
func TestSomeRingsHaveNoForm(t *testing.T) {
	t.Parallel()
	like := Ring{Queue: "q", ID: "q.0123456789:1:0:0", Payload: []byte("a payload of some length")}
	calls := 0
	send := func(change func(Ring, *call)) func(Ring) (*call, error) {
		e := newEncoder()
		return func(r Ring) (*call, error) {
			calls++
			c, err := e.ask(context.Background(), r, defaultTimeout)
			if err == nil {
				change(r, c)
			}
			return c, err
		}
	}
	asIs := func(Ring, *call) {}
	for _, c := range []struct {
		name   string
		ring   func(*Ring)
		change func(Ring, *call)
	}{
		{"headers", func(r *Ring) { r.Headers = map[string]string{"traceparent": "00-1-2-01"} }, asIs},
		{"a short id", func(r *Ring) { r.ID = "q.1" }, asIs},
		{"no payload", func(r *Ring) { r.Payload = nil }, asIs},
		{"a number that changes", nil, func(_ Ring, c *call) { c.words = append(c.words, int64(calls)) }},
		{"a text that changes", nil, func(_ Ring, c *call) { c.words = append(c.words, rand.Text()) }},
		{"a checksum in the message", nil, func(r Ring, c *call) {
			c.words[c.keys] = binary.BigEndian.AppendUint32(c.words[c.keys].([]byte), uint32(r.ID[3])<<8|uint32(r.ID[4])<<16|uint32(r.ID[5]))
		}},
		{"an id that is written otherwise", nil, func(r Ring, c *call) {
			c.words[c.keys] = bytes.ReplaceAll(c.words[c.keys].([]byte), []byte(r.ID), []byte(strings.ToLower(r.ID)))
		}},
		{"one argument more now and then", nil, func(_ Ring, c *call) { c.words = append(c.words, make([]any, calls%2)...) }},
	} {
		ring := like
		if c.ring != nil {
			c.ring(&ring)
		}
		calls = 0
		var f forms
		if f.of(ring, defaultTimeout, send(c.change)) != nil {
			t.Errorf("%s: a form was learnt", c.name)
		}
	}
}

func TestFormsThatCouldNotBeLearntForNowAreTriedAgain(t *testing.T) {
	t.Parallel()
	like := Ring{Queue: "q", ID: "q.0123456789:1:0:0", Payload: []byte("a payload of some length")}
	e, fail := newEncoder(), true
	send := func(r Ring) (*call, error) {
		if fail {
			return nil, errors.New("not now")
		}
		return e.ask(t.Context(), r, defaultTimeout)
	}
	var f forms
	if f.of(like, defaultTimeout, send) != nil {
		t.Fatal("a form was learnt of nothing")
	}
	fail = false
	if f.of(like, defaultTimeout, send) == nil {
		t.Error("what failed once is never tried again")
	}
}

func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	e := newEncoder()
	for i := range 2*formsKept + 10 {
		_, err := e.encode(t.Context(), Ring{Queue: "q", ID: "q.0123456789:1:0:0", Payload: make([]byte, formShortest+i)}, defaultTimeout)
		must(t, err)
	}
	if n := len(e.forms.held); n > formsKept {
		t.Errorf("%d forms are kept", n)
	}
}
