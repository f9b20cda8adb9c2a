package doorbell

import (
	"bytes"
	"crypto/rand"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// asynq's client spends more on a message than all else that a submission costs its producer. Rings of a queue whose ids and
// payloads are as long as each other's differ in nothing but those and the time, so asynq is asked for two examples, and the
// others are filled in. What it writes stays its own business: a form is used only if it gives the second example byte for byte.

// form is what asynq sends for a ring, with gaps.
type form struct {
	script *redis.Script
	words  []any // text, message, nanos, or what is always the same
	keys   int
}

// text is a text with a gap for the ring's id.
type text struct{ before, after string }

// message is an encoded task of some ring, and where that ring's id and payload are in it.
type message struct {
	encoded     []byte
	id, payload int
}

// nanos is the time of the call.
type nanos struct{}

func (t text) fill(id string) string { return t.before + id + t.after }

func (m message) fill(ring Ring) []byte {
	out := bytes.Clone(m.encoded)
	copy(out[m.id:], ring.ID)
	copy(out[m.payload:], ring.Payload)
	return out
}

// fill returns what asynq would send for a ring of the form's kind.
func (f *form) fill(ring Ring) *call {
	c := &call{script: f.script, words: make([]any, len(f.words)), keys: f.keys, queue: ring.Queue}
	for i, word := range f.words {
		c.words[i] = fillIn(word, ring)
	}
	return c
}

func fillIn(word any, ring Ring) any {
	switch w := word.(type) {
	case text:
		return w.fill(ring.ID)
	case message:
		return w.fill(ring)
	case nanos:
		return time.Now().UnixNano()
	default:
		return w
	}
}

// example is a ring, and what asynq sends for it.
type example struct {
	ring     Ring
	sent     *call
	from, to time.Time // the call was between these
}

// during says whether a number is a time of the call.
func (e example) during(nanos int64) bool {
	return e.from.UnixNano() <= nanos && nanos <= e.to.UnixNano()
}

// formOf makes a form of an example; ok is false for one that cannot be filled in.
func formOf(e example) (f *form, ok bool) {
	f = &form{script: e.sent.script, keys: e.sent.keys}
	for _, word := range e.sent.words {
		switch w := word.(type) {
		case string:
			f.words = append(f.words, textOf(w, e.ring.ID))
		case []byte:
			m := message{encoded: w, id: bytes.Index(w, []byte(e.ring.ID)), payload: bytes.Index(w, e.ring.Payload)}
			if m.id < 0 || m.payload < 0 {
				return nil, false
			}
			f.words = append(f.words, m)
		case int64:
			if e.during(w) {
				f.words = append(f.words, nanos{})
				continue
			}
			f.words = append(f.words, w)
		default:
			f.words = append(f.words, w)
		}
	}
	return f, true
}

// textOf is a text with a gap where s has the id, or s.
func textOf(s, id string) any {
	if before, after, gap := strings.Cut(s, id); gap {
		return text{before, after}
	}
	return s
}

// gives says whether filling the form in gives the example.
func (f *form) gives(e example) bool {
	filled := f.fill(e.ring)
	if len(filled.words) != len(e.sent.words) {
		return false
	}
	for i, word := range e.sent.words {
		if at, ok := word.(int64); ok && f.words[i] == any(nanos{}) && e.during(at) {
			filled.words[i] = at
		}
	}
	return reflect.DeepEqual(filled, e.sent)
}

// formKey is what the rings of one form have in common.
type formKey struct {
	queue, taskType string
	id, payload     int // lengths
	timeout         time.Duration
}

const (
	formsKept = 4096 // some two megabytes, of a producer with that many queues, or lengths
	// formShortest is a length at which a random text is in no message by chance.
	formShortest = 12
)

// forms are those that have been learnt; nil is one that cannot be. The zero forms is ready.
type forms struct {
	mu   sync.RWMutex
	held map[formKey]*form
}

// of returns the form of rings like this one, or nil if there is none; send is asked for examples of a new one.
func (f *forms) of(ring Ring, timeout time.Duration, send func(Ring) (*call, error)) *form {
	if len(ring.Headers) > 0 || len(ring.ID) < formShortest || len(ring.Payload) < formShortest {
		return nil
	}
	key := formKey{ring.Queue, ring.Type, len(ring.ID), len(ring.Payload), timeout}
	f.mu.RLock()
	known, ok := f.held[key]
	f.mu.RUnlock()
	if ok {
		return known
	}
	learnt, err := learn(ring, send)
	if err != nil {
		return nil // that is for the ring itself to find out
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		f.held = map[formKey]*form{}
	}
	for other := range f.held {
		if len(f.held) < formsKept {
			break
		}
		delete(f.held, other) // any one
	}
	f.held[key] = learnt
	return learnt
}

// learn makes a form of one example, and returns it if it gives another; nil: there is none.
func learn(like Ring, send func(Ring) (*call, error)) (*form, error) {
	var examples [2]example
	for i := range examples {
		e := example{ring: like, from: time.Now()}
		e.ring.ID, e.ring.Payload = random(len(like.ID)), []byte(random(len(like.Payload)))
		var err error
		if e.sent, err = send(e.ring); err != nil {
			return nil, err
		}
		e.to = time.Now()
		examples[i] = e
	}
	f, ok := formOf(examples[0])
	if !ok || !f.gives(examples[1]) {
		return nil, nil
	}
	return f, nil
}

// random is a text that is found nowhere else.
func random(length int) string {
	var b strings.Builder
	for b.Len() < length {
		b.WriteString(rand.Text())
	}
	return b.String()[:length]
}
