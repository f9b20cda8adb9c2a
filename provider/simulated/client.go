package simulated

import (
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"strings"
	"sync"
	"syscall"
	"time"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

// DefaultModel is the model of a simulation that is given none.
const DefaultModel = "simulated-1"

// Config is what New needs.
type Config struct {
	Name         provider.Name
	Capabilities provider.Capabilities // what the simulation says it can do
	Model        string                // begins with "simulated"; empty: DefaultModel
	Script       Script                // zero: every call is answered at once
}

// Client is a simulated provider. It is safe for many goroutines.
type Client struct {
	name         provider.Name
	capabilities provider.Capabilities
	model        executor.ModelVersion
	script       Script

	mu    sync.Mutex
	asked map[asking]int
}

// asking is a question whose calls are counted: a step's with one input, under one rule.
type asking struct {
	rule  int
	step  executor.StepID
	input uint64
}

// mostAskings bounds the memory of a simulation under load: beyond it some count begins again.
const mostAskings = 1 << 16

// New returns a client that does what the script says. The error says what is wrong with cfg.
func New(cfg Config) (*Client, error) {
	if cfg.Model == "" {
		cfg.Model = DefaultModel
	}
	model := executor.ModelVersionOf(cfg.Model)
	if !strings.HasPrefix(model.String(), "simulated") {
		return nil, errors.New("simulated: a simulation's model has a name that begins with simulated")
	}
	if cfg.Name.IsZero() {
		return nil, errors.New("simulated: a simulation needs a name")
	}
	if err := cfg.Script.Check(); err != nil {
		return nil, err
	}
	return &Client{
		name: cfg.Name, capabilities: cfg.Capabilities, model: model, script: cfg.Script, asked: map[asking]int{},
	}, nil
}

// Name returns the configured name.
func (c *Client) Name() provider.Name { return c.name }

// Capabilities returns what the configuration says.
func (c *Client) Capabilities() provider.Capabilities { return c.capabilities }

// Complete does what the script says.
func (c *Client) Complete(ctx context.Context, req provider.Request) (provider.Response, error) {
	t := c.turn(ctx, req)
	if err := t.wait(*t.behaviour.Latency); err != nil {
		return provider.Response{}, err
	}
	return t.end()
}

// pieceBytes is the length of a streamed piece: a handful of tokens.
const pieceBytes = 16

// Stream does what the script says, piece by piece.
func (c *Client) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		t := c.turn(ctx, req)
		started := time.Now()
		if err := t.wait(*t.behaviour.Latency); err != nil {
			yield(provider.Chunk{}, err)
			return
		}
		first := time.Since(started)
		for n, piece := range t.pieces() {
			if n > 0 {
				if err := t.wait(c.script.Pace); err != nil {
					yield(provider.Chunk{Done: t.paid()}, err)
					return
				}
			}
			t.shown = true
			if !yield(provider.Chunk{Text: content.New(piece)}, nil) {
				return
			}
		}
		answer, err := t.end()
		answer.FirstToken = first
		yield(provider.Chunk{Done: &answer}, err)
	}
}

// turn is one call.
type turn struct {
	*Client
	ctx       context.Context //nolint:containedctx // lives no longer than the call
	req       provider.Request
	behaviour Behaviour
	docs      []any
	largest   any
	call      int    // from 1
	input     uint64 // stands for step and input
	answer    string
	failed    error // the answer cannot be made
	shown     bool  // a token was shown
}

func (c *Client) turn(ctx context.Context, req provider.Request) *turn {
	t := &turn{Client: c, ctx: ctx, req: req, input: hash(req)}
	t.docs, t.largest = documents(req.Prompt.Reveal())
	t.behaviour, t.call = c.choose(t)
	if t.behaviour.Latency == nil {
		t.behaviour.Latency = &c.script.Latency
	}
	if err := t.write(); err != nil {
		t.failed = t.judge(provider.Signal{Seen: provider.SeenNoAnswer, Cause: err})
	}
	return t
}

// choose finds the rule for a call and counts it.
func (c *Client) choose(t *turn) (Behaviour, int) {
	for i, r := range c.script.Rules {
		if r.Step != "" && r.Step != t.req.Step.String() || !strings.Contains(t.req.Prompt.Reveal(), r.Contains) || !fits(t.docs, r.Where) {
			continue
		}
		if len(r.Calls) == 0 {
			return Behaviour{}, 1
		}
		n := c.count(asking{i, t.req.Step, t.input})
		return r.Calls[min(n, len(r.Calls))-1], n
	}
	return Behaviour{}, 1
}

// count returns the number of this call among those that ask the same.
func (c *Client) count(a asking) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) >= mostAskings {
		for old := range c.asked {
			delete(c.asked, old)
			break
		}
	}
	c.asked[a]++
	return c.asked[a]
}

func hash(req provider.Request) uint64 {
	h := fnv.New64a()
	for _, part := range []string{req.Step.String(), req.System.Reveal(), req.Prompt.Reveal()} {
		_, _ = h.Write([]byte(part))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// wait waits, or returns why the call is over.
func (t *turn) wait(d time.Duration) error {
	if t.ctx.Err() == nil && d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.ctx.Done():
	case <-timer.C:
		if t.ctx.Err() == nil {
			return nil
		}
	}
	return t.judge(provider.FromError(t.ctx, context.Cause(t.ctx)))
}

func (t *turn) judge(s provider.Signal) error {
	s.Provider, s.AfterFirstToken = t.name, t.shown
	return provider.Judge(s)
}

// pieces are what a stream shows before its end.
func (t *turn) pieces() []string {
	if t.failed != nil {
		return nil
	}
	switch t.behaviour.Do {
	case Answer, Malformed, Truncated, BreakSchema:
		return cut(t.answer)
	case Hang, Reset:
		pieces := cut(t.answer)
		return pieces[:min(t.behaviour.After, len(pieces))]
	case RateLimit, Status, Refuse, Empty:
	}
	return nil
}

// cut cuts a text into pieces, between runes.
func cut(text string) []string {
	var pieces []string
	for len(text) > 0 {
		n := min(pieceBytes, len(text))
		for n < len(text) && text[n]&0xC0 == 0x80 {
			n++
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

// end is how the call ends.
func (t *turn) end() (provider.Response, error) {
	if t.failed != nil {
		return provider.Response{}, t.failed
	}
	b := t.behaviour
	switch b.Do {
	case RateLimit, Status:
		return provider.Response{}, t.judge(status(b))
	case Hang:
		<-t.ctx.Done()
		return *t.paid(), t.judge(provider.FromError(t.ctx, context.Cause(t.ctx)))
	case Reset:
		return *t.paid(), t.judge(provider.Signal{Seen: provider.SeenNetwork, Cause: syscall.ECONNRESET})
	case Truncated:
		return *t.paid(), t.judge(provider.Signal{Seen: provider.SeenTruncated})
	case Refuse:
		return *t.paid(), t.judge(provider.Signal{Seen: provider.SeenRefusal})
	case Empty:
		return *t.paid(), t.judge(provider.Signal{Seen: provider.SeenEmpty})
	case Answer, Malformed, BreakSchema:
	}
	answer := *t.paid()
	answer.Text = content.New(t.answer)
	return answer, nil
}

func status(b Behaviour) provider.Signal {
	s := provider.Signal{Seen: provider.SeenStatus, Status: b.Status}
	switch {
	case b.Do == RateLimit:
		s.Status, s.Codes = 429, []string{"rate_limit_exceeded"}
	case b.Status == 0:
		s.Status = 503
	}
	if b.RetryAfter != nil {
		s.RetryAfter, s.HasRetryAfter = *b.RetryAfter, true
	}
	return s
}

// paid is what the call cost and who was asked: tokens of four bytes, those of the prompt and those written.
func (t *turn) paid() *provider.Response {
	written := t.answer
	if t.behaviour.Do == Hang || t.behaviour.Do == Reset {
		written = strings.Join(t.pieces(), "")
	}
	asked := len(t.req.System.Reveal()) + len(t.req.Prompt.Reveal())
	if t.req.Output != nil {
		asked += len(t.req.Output.JSON)
	}
	r := &provider.Response{Model: t.model, Provider: t.name, ModelProvider: provider.ModelProviderSimulated}
	if written != "" || t.behaviour.Do != Hang && t.behaviour.Do != Reset {
		r.Usage = executor.Tokens(tokens(asked), tokens(len(written)))
	}
	return r
}

func tokens(bytes int) int64 { return int64(bytes+3) / 4 }
