package provider

import (
	"context"
	"errors"
	"slices"
	"time"

	"fourfold/executor"
)

// Chain asks its clients in order until one answers, each at most once per call. It is itself a Client, never waits and never
// asks anybody twice: waiting and further attempts are the executor's. A chain is immutable and safe for many goroutines.
//
// Clients that lack a capability the request requires are passed over. After an error the next client is asked when the
// error's NextProvider says so, or when an option of the chain does, and never after the first token of a stream. A client whose
// breaker is open refuses, which is a reason to move on; when there are several and the breakers of all are open, the one that
// opens soonest is asked all the same, one call at a time, unless the provider itself asked to be left alone until then. A
// single one is left alone until its breaker opens: there is nothing to choose.
//
// When several failed, the error is a *ChainError. When nobody was asked because every gate said not yet, it is the
// *executor.Parked that ends first; where a gate said so and open breakers refused the others, it is parked too, for what the
// gate said, until the first of them may be asked. When the context has ended, nobody further is asked.
type Chain struct {
	clients  []Client
	also     []Kind           // FallbackOn
	when     func(Error) bool // FallbackWhen; nil: the table
	observer Observer         // nil: nobody is told
}

// ChainOption changes when a chain moves on.
type ChainOption func(*Chain)

// FallbackOn lets the next client be asked after errors of these kinds too, in addition to the table.
func FallbackOn(kinds ...Kind) ChainOption {
	return func(c *Chain) { c.also = append(slices.Clip(c.also), kinds...) }
}

// FallbackWhen asks next instead of the table whether to move on after an error. It is called from many goroutines, and asked
// neither after the first token of a stream nor when the context has ended. Nil means the table again.
func FallbackWhen(next func(Error) bool) ChainOption { return func(c *Chain) { c.when = next } }

// ObserveChain tells o about each move to a next client. The kind is KindNone when the client before was not asked because
// its gate said not yet.
func ObserveChain(o Observer) ChainOption { return func(c *Chain) { c.observer = o } }

// NewChain returns the chain of first and rest, in this order.
func NewChain(first Client, rest ...Client) *Chain {
	return &Chain{clients: append([]Client{first}, rest...)}
}

// With returns a copy of c with opts; c stays as it is.
func (c *Chain) With(opts ...ChainOption) *Chain {
	changed := *c
	for _, opt := range opts {
		opt(&changed)
	}
	return &changed
}

// Name returns the name of the first client.
func (c *Chain) Name() Name { return c.clients[0].Name() }

// Capabilities returns the union of what the clients can do. That one of them can do all of it is not said: ask Able.
func (c *Chain) Capabilities() Capabilities {
	var all Capabilities
	for _, client := range c.clients {
		all = all.Union(client.Capabilities())
	}
	return all
}

// Able returns the names of those who may be asked for what need names, in order; nil: nobody.
func (c *Chain) Able(need Capabilities) []Name {
	var names []Name
	for _, client := range c.clients {
		if client.Capabilities().Has(need) {
			names = append(names, client.Name())
		}
	}
	return names
}

// Check returns a *CapabilityError when nobody in the chain can do all that need names, and nil otherwise. A worker asks it
// when it starts, so that a step never meets that error.
func (c *Chain) Check(need Capabilities) error {
	e := &CapabilityError{Need: need}
	for _, client := range c.clients {
		lacks := client.Capabilities().Lacking(need)
		if lacks == 0 {
			return nil
		}
		e.Lacks = append(e.Lacks, Lack{client.Name(), lacks})
	}
	return e
}

// Complete asks the clients in turn. The Response names who answered; its usage counts those who failed before too.
func (c *Chain) Complete(ctx context.Context, req Request) (Response, error) {
	p, err := c.plan(ctx, req)
	if err != nil {
		return Response{}, err
	}
	for p.more() {
		answer, err := p.client().Complete(p.context(ctx), req)
		p.paid(answer)
		if err == nil {
			return p.answer(answer), nil
		}
		if !p.failed(ctx, err, false) {
			break
		}
	}
	return p.spent(), p.err()
}

// pass is one pass over the clients of a chain.
type pass struct {
	chain      *Chain
	candidates []Client
	forced     bool // every breaker of several is open: they are asked in the order in which they open, until one does not refuse
	next       int
	usage      executor.Usage
	model      executor.ModelVersion
	errs       []error // in the order asked; *executor.Parked are kept apart
	parked     *executor.Parked
	bug        error // an error that is none of the kinds: it ends the pass and is returned as it is
}

// plan decides who may be asked, and in which order.
func (c *Chain) plan(ctx context.Context, req Request) (*pass, error) {
	if ctx.Err() != nil {
		s := FromError(ctx, context.Cause(ctx))
		s.Provider = c.Name()
		return nil, Judge(s)
	}
	p := &pass{chain: c, candidates: c.clients}
	if lacks := func(client Client) bool { return !client.Capabilities().Has(req.Requires) }; slices.ContainsFunc(c.clients, lacks) {
		p.candidates = slices.DeleteFunc(slices.Clone(c.clients), lacks)
	}
	if len(p.candidates) == 0 {
		return nil, Judge(Signal{Provider: c.Name(), Seen: SeenIncapable, Cause: c.Check(req.Requires)})
	}
	p.considerBreakers(time.Now())
	return p, nil
}

// breakable is a client that knows when its breaker lets calls through again.
type breakable interface {
	opensAt(now time.Time) (at time.Time, open bool)
}

// considerBreakers puts the candidates in the order in which their breakers open, if there are several and all are open.
func (p *pass) considerBreakers(now time.Time) {
	if len(p.candidates) == 1 {
		return
	}
	type opening struct {
		client Client
		at     time.Time
	}
	var openings []opening
	for _, client := range p.candidates {
		b, ok := client.(breakable)
		if !ok {
			return
		}
		at, open := b.opensAt(now)
		if !open {
			return
		}
		openings = append(openings, opening{client, at})
	}
	slices.SortStableFunc(openings, func(a, b opening) int { return a.at.Compare(b.at) })
	p.forced = true
	p.candidates = make([]Client, len(openings))
	for i, o := range openings {
		p.candidates[i] = o.client
	}
}

func (p *pass) more() bool     { return p.next < len(p.candidates) }
func (p *pass) client() Client { return p.candidates[p.next] }

type forceKey struct{}

// context returns the context for the client that is asked now.
func (p *pass) context(ctx context.Context) context.Context {
	if p.forced {
		return context.WithValue(ctx, forceKey{}, true)
	}
	return ctx
}

// isForced reports whether the caller asks although the breaker is open.
func isForced(ctx context.Context) bool { return ctx.Value(forceKey{}) != nil }

// paid adds what a call cost, whether it failed or not.
func (p *pass) paid(r Response) {
	p.usage = p.usage.Add(r.Usage)
	if !r.Model.IsZero() {
		p.model = r.Model
	}
}

func (p *pass) answer(r Response) Response {
	r.Usage = p.usage
	if r.Provider.IsZero() {
		r.Provider = p.client().Name()
	}
	return r
}

// spent is the Response beside an error: what was paid for nothing.
func (p *pass) spent() Response { return Response{Usage: p.usage, Model: p.model} }

// failed takes the error of the client asked last, and reports whether to ask the next one.
func (p *pass) failed(ctx context.Context, err error, afterFirstToken bool) bool {
	from := p.client().Name()
	kind, next := KindNone, true
	var parked *executor.Parked
	if errors.As(err, &parked) {
		if p.parked == nil || parked.NotBefore.Before(p.parked.NotBefore) {
			p.parked = parked
		}
	} else {
		e, ok := AsError(err)
		if !ok {
			p.bug = err
			return false
		}
		p.errs = append(p.errs, err)
		kind, next = e.Kind(), p.movesOn(e)
	}
	p.next++
	if afterFirstToken || !next || ctx.Err() != nil || !p.more() {
		return false
	}
	if o := p.chain.observer; o != nil {
		o.FellBack(ctx, from, p.client().Name(), kind)
	}
	return true
}

// movesOn reports whether the next client may answer after e.
func (p *pass) movesOn(e Error) bool {
	switch {
	case e.Reason() == ReasonAborted:
		return false
	case p.forced && e.Reason() != ReasonBreakerOpen:
		return false // the one call that is made although every breaker is open
	case p.chain.when != nil:
		return p.chain.when(e)
	}
	return e.NextProvider() || slices.Contains(p.chain.also, e.Kind())
}

// err is the error of the whole pass.
func (p *pass) err() error {
	switch {
	case p.bug != nil:
		return p.bug
	case len(p.errs) == 0 && p.parked != nil:
		return p.parked
	case len(p.errs) == 1 && p.parked == nil:
		return p.errs[0]
	}
	now := time.Now()
	all := newChainError(p.errs, p.parked, now)
	if after, none := NotAsked(all); none && p.parked != nil && p.parked.Class != executor.ClassUpstream5xx {
		return &executor.Parked{NotBefore: now.Add(after), Class: p.parked.Class} // somebody is well, and only busy
	}
	return all
}
