package provider_test

import (
	"context"
	"iter"
	"testing"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

func part(text string) provider.Chunk { return provider.Chunk{Text: content.New(text)} }

// shows is a client whose stream shows chunks and then fails; a nil signal: it just ends.
func shows(t *testing.T, name string, s *provider.Signal, chunks ...provider.Chunk) *fake {
	t.Helper()
	f := &fake{name: provider.MustName(name)}
	f.parts = func(context.Context, int) iter.Seq2[provider.Chunk, error] {
		return func(yield func(provider.Chunk, error) bool) {
			for _, c := range chunks {
				if !yield(c, nil) {
					return
				}
			}
			if s != nil {
				yield(provider.Chunk{Done: &provider.Response{Usage: executor.Tokens(7, 3)}}, provider.Judge(*s))
			}
		}
	}
	return f
}

func TestAStreamMovesOnOnlyBeforeItsFirstToken(t *testing.T) {
	roleOnly, tool := provider.Chunk{}, provider.Chunk{Tool: true}
	always := provider.FallbackWhen(func(provider.Error) bool { return true })
	for _, c := range []struct {
		name  string
		first *fake
		want  string
		calls int // of the second
	}{
		{"nothing shown", shows(t, "a", &down), "b", 1},
		{"only chunks without a token", shows(t, "a", &down, roleOnly, part(""), roleOnly), "b", 1},
		{"a token shown", shows(t, "a", &down, part("to")), "to", 0},
		{"a tool call shown", shows(t, "a", &down, tool), "", 0},
		{"cut before a token", shows(t, "a", nil, roleOnly), "b", 1},
		{"cut after a token", shows(t, "a", nil, part("to"), part("ken")), "token", 0},
	} {
		b := answers(t, "b")
		s := read(chainOf(c.first, b).With(always).Stream(t.Context(), provider.Request{}))
		if c.calls == 1 && s.pairs != 2 {
			t.Errorf("%s: %d pairs, though nothing of a stream that failed is passed on", c.name, s.pairs)
		}
		if s.text != c.want || b.calls() != c.calls || s.ends != 1 || (s.err == nil) != (c.calls == 1) {
			t.Errorf("%s: %q, %d ends, second asked %d times, %v", c.name, s.text, s.ends, b.calls(), s.err)
		}
	}
}

func TestAStreamThatBreaksOffIsABrokenCallThatWasPaidFor(t *testing.T) {
	s := read(chainOf(fails(t, "a", limited), shows(t, "b", &down, part("to"))).Stream(t.Context(), provider.Request{}))
	if s.done == nil || s.done.Usage != executor.Tokens(107, 3) || s.done.Text.Reveal() != "" {
		t.Errorf("paid: %v", s.done)
	}
	s = read(chainOf(shows(t, "a", nil, part("to"))).Stream(t.Context(), provider.Request{}))
	if e, ok := provider.AsError(s.err); !ok || says(e) != "network next:no again:yes upstream-5xx" {
		t.Errorf("%v", s.err)
	}
}

func TestAStreamCanBeLeft(t *testing.T) {
	released := 0
	a := &fake{name: provider.MustName("a")}
	a.parts = func(context.Context, int) iter.Seq2[provider.Chunk, error] {
		return func(yield func(provider.Chunk, error) bool) {
			defer func() { released++ }()
			for yield(part("x"), nil) {
			}
		}
	}
	b := answers(t, "b")
	n := 0
	for _, err := range chainOf(a, b).Stream(t.Context(), provider.Request{}) {
		if n++; n == 3 || err != nil {
			break
		}
	}
	if n != 3 || released != 1 || b.calls() != 0 {
		t.Errorf("%d chunks, released %d times, second asked %d times", n, released, b.calls())
	}
	for _, err := range chainOf(answers(t, "c")).Stream(t.Context(), provider.Request{}) {
		if err != nil {
			t.Error(err)
		}
		break // at the first token
	}
}
