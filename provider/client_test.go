package provider_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

// fake is a client that does what a function says, and counts how often it was asked.
type fake struct {
	name  provider.Name
	able  provider.Capabilities
	do    func(ctx context.Context, n int) (provider.Response, error)
	parts func(ctx context.Context, n int) iter.Seq2[provider.Chunk, error]

	mu    sync.Mutex
	asked int
}

func (f *fake) Name() provider.Name                 { return f.name }
func (f *fake) Capabilities() provider.Capabilities { return f.able }

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return f.asked
}

func (f *fake) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *fake) Complete(ctx context.Context, _ provider.Request) (provider.Response, error) {
	n := f.count()
	return f.doing()(ctx, n)
}

// doing and does guard what a client does: a call that a guard has left may begin late.
func (f *fake) doing() func(context.Context, int) (provider.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do
}

func (f *fake) does(do func(context.Context, int) (provider.Response, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.do = do
}

// Stream shows the answer of do in one token, unless parts says otherwise.
func (f *fake) Stream(ctx context.Context, _ provider.Request) iter.Seq2[provider.Chunk, error] {
	n := f.count()
	if f.parts != nil {
		return f.parts(ctx, n)
	}
	return func(yield func(provider.Chunk, error) bool) {
		answer, err := f.doing()(ctx, n)
		if err != nil {
			yield(provider.Chunk{Done: &answer}, err)
			return
		}
		if yield(provider.Chunk{Text: answer.Text}, nil) {
			yield(provider.Chunk{Done: &answer}, nil)
		}
	}
}

// answers is a client that says its name.
func answers(t *testing.T, name string) *fake {
	t.Helper()
	return &fake{name: provider.MustName(name), do: func(context.Context, int) (provider.Response, error) { return said(name), nil }}
}

func said(text string) provider.Response {
	return provider.Response{Text: content.New(text), Model: executor.ModelVersionOf("m-" + text), Usage: executor.Tokens(10, 1)}
}

// fails is a client that fails in the same way for ever; each call costs 100 and 0 tokens.
func fails(t *testing.T, name string, s provider.Signal) *fake {
	t.Helper()
	s.Provider = provider.MustName(name)
	return &fake{name: s.Provider, do: func(context.Context, int) (provider.Response, error) {
		return provider.Response{Usage: executor.Tokens(100, 0)}, provider.Judge(s)
	}}
}

// parks is a client whose gate says not yet.
func parks(t *testing.T, name string, until time.Time) *fake {
	t.Helper()
	return &fake{name: provider.MustName(name), do: func(context.Context, int) (provider.Response, error) {
		return provider.Response{}, &executor.Parked{NotBefore: until}
	}}
}

// streamed is what a stream showed.
type streamed struct {
	text   string
	tokens int
	done   *provider.Response
	err    error
	ends   int // pairs with Done or an error
	pairs  int
}

func read(seq iter.Seq2[provider.Chunk, error]) (s streamed) {
	for chunk, err := range seq {
		if chunk.IsToken() {
			s.tokens++
		}
		s.pairs++
		s.text += chunk.Text.Reveal()
		if err != nil || chunk.Done != nil {
			s.done, s.err = chunk.Done, err
			s.ends++
		}
	}
	return s
}

// heard is an observer that keeps what it is told.
type heard struct {
	mu       sync.Mutex
	calls    []provider.Call
	moves    []string
	breakers []bool
}

func (h *heard) CallFinished(_ context.Context, c provider.Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, c)
}

func (h *heard) FellBack(_ context.Context, from, to provider.Name, kind provider.Kind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moves = append(h.moves, from.String()+">"+to.String()+" "+kind.String())
}

func (h *heard) BreakerChanged(_ provider.Name, _ executor.ModelVersion, open bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.breakers = append(h.breakers, open)
}
