package providertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

// model is a client that keeps the contract, but for what a test spoils.
type model struct {
	name  provider.Name
	reply func(context.Context, provider.Request) (provider.Response, error)
	parts func(context.Context, provider.Request) iter.Seq2[provider.Chunk, error]
}

func (m *model) Name() provider.Name { return m.name }
func (m *model) Capabilities() provider.Capabilities {
	return provider.CapabilitiesOf(provider.Streaming)
}

func (m *model) Complete(ctx context.Context, req provider.Request) (provider.Response, error) {
	if ctx.Err() != nil {
		return provider.Response{}, m.judge(provider.FromError(ctx, ctx.Err()))
	}
	return m.reply(ctx, req)
}

func (m *model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	if m.parts != nil {
		return m.parts(ctx, req)
	}
	return func(yield func(provider.Chunk, error) bool) {
		answer, err := m.Complete(ctx, req)
		if err != nil {
			yield(provider.Chunk{}, err)
			return
		}
		if yield(provider.Chunk{Text: answer.Text}, nil) {
			yield(provider.Chunk{Done: &answer}, nil)
		}
	}
}

func (m *model) judge(s provider.Signal) error {
	s.Provider = m.name
	return provider.Judge(s)
}

func newModel() *model { return &model{name: provider.MustName("own")} }

func (m *model) good() provider.Response {
	return provider.Response{
		Text: content.New("hello"), Provider: m.name, Model: executor.ModelVersionOf("own-1"), ModelProvider: provider.ModelProviderSimulated,
	}
}

func fixture() Fixture {
	answers, hangs, fails, breaks := newModel(), newModel(), newModel(), newModel()
	answers.reply = func(context.Context, provider.Request) (provider.Response, error) { return answers.good(), nil }
	hangs.reply = func(ctx context.Context, _ provider.Request) (provider.Response, error) {
		<-ctx.Done()
		return provider.Response{}, hangs.judge(provider.FromError(ctx, ctx.Err()))
	}
	fails.reply = func(context.Context, provider.Request) (provider.Response, error) {
		return provider.Response{}, fails.judge(provider.Signal{Status: 503, Message: CanaryText})
	}
	breaks.reply = hangs.reply
	breaks.parts = func(context.Context, provider.Request) iter.Seq2[provider.Chunk, error] {
		return pairs(provider.Chunk{Text: content.New("he")}, breaks.judge(provider.Signal{Seen: provider.SeenCut, AfterFirstToken: true}))
	}
	return Fixture{Answers: answers, Hangs: hangs, Breaks: breaks, Fails: map[provider.Kind]provider.Client{provider.KindProviderError: fails}}
}

// pairs is a stream of chunks and errors, one pair each.
func pairs(items ...any) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		for _, item := range items {
			chunk, _ := item.(provider.Chunk)
			err, _ := item.(error)
			if !yield(chunk, err) {
				return
			}
		}
	}
}

func TestAClientThatKeepsTheContractPasses(t *testing.T) {
	Run(t, func(*testing.T) Fixture { return fixture() })
}

// notes is a reporter that keeps what is reported.
type notes struct {
	ctx  context.Context
	mu   sync.Mutex
	said []string
}

func (n *notes) Helper()                  {}
func (n *notes) Context() context.Context { return n.ctx }
func (n *notes) Errorf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, fmt.Sprintf(format, args...))
}

// replies makes m answer every call with a response that change has spoilt.
func replies(m *model, change func(*provider.Response)) {
	m.reply = func(context.Context, provider.Request) (provider.Response, error) {
		answer := m.good()
		change(&answer)
		return answer, nil
	}
}

func TestEachBreachOfTheContractIsReported(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(f *Fixture, answers, fails, breaks *model)
		want  []string // the checks that report it
	}{
		{"half a fixture", func(f *Fixture, _, _, _ *model) { f.Fails = nil }, []string{"comes with a whole fixture"}},
		{
			"no name", func(_ *Fixture, answers, _, _ *model) { answers.name = provider.Name{} },
			[]string{"keeps its name and capabilities"},
		},
		{
			"no text", func(_ *Fixture, answers, _, _ *model) {
				replies(answers, func(r *provider.Response) { r.Text = content.Of[string]{} })
			},
			[]string{"answers with a text, and says who", "streams the same answer that it ends with, and ends once"},
		},
		{
			"no model", func(_ *Fixture, answers, _, _ *model) {
				replies(answers, func(r *provider.Response) { r.Model = executor.ModelVersion{} })
			},
			[]string{"answers with a text, and says who", "streams the same answer that it ends with, and ends once"},
		},
		{
			"no model provider", func(_ *Fixture, answers, _, _ *model) {
				replies(answers, func(r *provider.Response) { r.ModelProvider = provider.ModelProvider{} })
			},
			[]string{"answers with a text, and says who", "streams the same answer that it ends with, and ends once"},
		},
		{
			"somebody else's name", func(_ *Fixture, answers, _, _ *model) {
				replies(answers, func(r *provider.Response) { r.Provider = provider.MustName("other") })
			},
			[]string{"answers with a text, and says who", "streams the same answer that it ends with, and ends once"},
		},
		{
			"a stream without tokens", func(_ *Fixture, answers, _, _ *model) {
				done := answers.good()
				answers.parts = unlessEnded(answers, provider.Chunk{Done: &done})
			},
			[]string{"streams the same answer that it ends with, and ends once"},
		},
		{
			"another text at the end", func(_ *Fixture, answers, _, _ *model) {
				done := answers.good()
				answers.parts = unlessEnded(answers, provider.Chunk{Text: content.New("hullo")}, provider.Chunk{Done: &done})
			},
			[]string{"streams the same answer that it ends with, and ends once"},
		},
		{
			"two ends", func(_ *Fixture, answers, _, _ *model) {
				done := answers.good()
				answers.parts = unlessEnded(answers, provider.Chunk{Text: done.Text}, provider.Chunk{Done: &done}, provider.Chunk{Done: &done})
			},
			[]string{"streams the same answer that it ends with, and ends once"},
		},
		{
			"a request that is changed", func(_ *Fixture, answers, _, _ *model) {
				answers.reply = func(_ context.Context, req provider.Request) (provider.Response, error) {
					if req.Output != nil {
						req.Output.JSON[0] = '['
					}
					return answers.good(), nil
				}
			},
			[]string{"leaves the request as it was"},
		},
		{
			"a deaf stream", func(_ *Fixture, answers, _, _ *model) {
				answers.parts = func(context.Context, provider.Request) iter.Seq2[provider.Chunk, error] {
					done := answers.good()
					return pairs(provider.Chunk{Text: done.Text}, provider.Chunk{Done: &done})
				}
			},
			[]string{"makes no call on an ended context"},
		},
		{
			"an abort that is taken for a broken call", func(f *Fixture, _, _, _ *model) {
				hangs, _ := f.Hangs.(*model)
				hangs.reply = func(ctx context.Context, _ provider.Request) (provider.Response, error) {
					<-ctx.Done()
					return provider.Response{}, hangs.judge(provider.Signal{Seen: provider.SeenNetwork})
				}
			},
			[]string{"ends when its context does"},
		},
		{
			"another kind", func(_ *Fixture, _, fails, _ *model) {
				fails.reply = func(context.Context, provider.Request) (provider.Response, error) {
					return provider.Response{}, fails.judge(provider.Signal{Status: 400})
				}
			},
			[]string{"fails by kind"},
		},
		{
			"a plain error with the provider's words", func(_ *Fixture, _, fails, _ *model) {
				fails.reply = func(context.Context, provider.Request) (provider.Response, error) {
					return provider.Response{}, errors.New(CanaryText)
				}
			},
			[]string{"fails by kind", "says nothing of what was said"},
		},
		{
			"a text beside an error", func(_ *Fixture, _, fails, _ *model) {
				reply := fails.reply
				fails.reply = func(ctx context.Context, req provider.Request) (provider.Response, error) {
					_, err := reply(ctx, req)
					return fails.good(), err
				}
			},
			[]string{"fails by kind"},
		},
		{
			"no failure", func(_ *Fixture, _, fails, _ *model) { replies(fails, func(*provider.Response) {}) },
			[]string{"fails by kind"},
		},
		{
			"a break that moves on", func(_ *Fixture, _, _, breaks *model) {
				breaks.parts = func(context.Context, provider.Request) iter.Seq2[provider.Chunk, error] {
					return pairs(provider.Chunk{Tool: true}, breaks.judge(provider.Signal{Seen: provider.SeenCut}))
				}
			},
			[]string{"breaks off with one error that moves nobody on"},
		},
		{
			"a break that is an answer", func(_ *Fixture, _, _, breaks *model) {
				breaks.parts = func(context.Context, provider.Request) iter.Seq2[provider.Chunk, error] {
					return pairs(provider.Chunk{Tool: true})
				}
			},
			[]string{"breaks off with one error that moves nobody on"},
		},
		{
			"one at a time", func(_ *Fixture, answers, _, _ *model) {
				var busy sync.Mutex
				reply := answers.reply
				answers.reply = func(ctx context.Context, req provider.Request) (provider.Response, error) {
					if !busy.TryLock() {
						return provider.Response{}, answers.judge(provider.Signal{Status: 503})
					}
					return reply(ctx, req) // and stays busy
				}
			},
			[]string{"answers many at once"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fixture().complete()
			answers, _ := f.Answers.(*model)
			failing, _ := f.Fails[provider.KindProviderError].(*model)
			breaks, _ := f.Breaks.(*model)
			c.spoil(&f, answers, failing, breaks)
			var reported []string
			for _, check := range checks {
				n := &notes{ctx: t.Context()}
				check.run(n, f)
				if len(n.said) > 0 {
					reported = append(reported, check.name)
				}
				if i := slices.IndexFunc(n.said, func(s string) bool { return strings.Contains(s, CanaryText) }); i >= 0 {
					t.Errorf("%s quotes content: %s", check.name, n.said[i])
				}
			}
			if missing := slices.DeleteFunc(slices.Clone(c.want), func(w string) bool { return slices.Contains(reported, w) }); len(missing) > 0 {
				t.Errorf("not reported by %q, only by %q", missing, reported)
			}
		})
	}
}

// unlessEnded is a stream that heeds a context that has ended.
func unlessEnded(m *model, items ...any) func(context.Context, provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(ctx context.Context, _ provider.Request) iter.Seq2[provider.Chunk, error] {
		if ctx.Err() != nil {
			return pairs(m.judge(provider.FromError(ctx, ctx.Err())))
		}
		return pairs(items...)
	}
}
