package provider

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"fourfold/content"
	"fourfold/executor"
)

// Client is one provider and model, or a chain of them.
type Client interface {
	Name() Name
	Capabilities() Capabilities
	Complete(context.Context, Request) (Response, error)
	// Stream yields chunks in order; the last pair has either the final chunk (Done) or an error.
	Stream(context.Context, Request) iter.Seq2[Chunk, error]
}

// Request is one question to a model.
type Request struct {
	System   content.Of[string] // zero: none
	Prompt   content.Of[string]
	Output   *OutputSchema // nil: free text
	Params   Params
	Requires Capabilities
	Step     executor.StepID // for logs and simulations; never sent
}

// OutputSchema is the JSON Schema that an answer should fit. It comes from the bundle.
type OutputSchema struct {
	Name string // [a-zA-Z0-9_-]{1,64}
	JSON json.RawMessage
}

// Params are sampling parameters; nil means the provider's own default.
type Params struct {
	Temperature *float64
	TopP        *float64
	MaxTokens   *int
	Seed        *int64
	Stop        []string
}

// Response is a complete answer.
type Response struct {
	Text          content.Of[string]
	Model         executor.ModelVersion
	Usage         executor.Usage
	Provider      Name // who answered, also through a chain
	ModelProvider ModelProvider
	FirstToken    time.Duration // zero when not streamed
}

// Chunk is a piece of a streamed answer.
type Chunk struct {
	Text content.Of[string] // the new text; zero on the last chunk
	Tool bool               // a tool-call delta: a token, but no text
	Done *Response          // set on the last chunk only: whole text, usage, model
}

// Call is the record of one finished call to one provider: all that may be logged of it.
type Call struct {
	Provider      Name
	ModelProvider ModelProvider
	Model         executor.ModelVersion // as configured when the call failed before the model was named
	Kind          Kind                  // KindNone: answered
	Reason        Reason
	Status        int // HTTP; 0: none
	Duration      time.Duration
	FirstToken    time.Duration // zero: not streamed
	Usage         executor.Usage
	Scope         Scope
}

// Scope says for whom a call is made. It travels in the context and holds identifiers only.
type Scope struct {
	Run     string // run id: queue and 26 characters, never content
	Flow    string
	Step    executor.StepID
	Attempt int // from 1
}

// WithScope returns a context whose calls are recorded under s; ScopeOf reads it back.
func WithScope(ctx context.Context, s Scope) context.Context { panic("unbuilt") }
func ScopeOf(ctx context.Context) Scope                      { panic("unbuilt") }

// Observer is told what providers do. Its methods are called from many goroutines and must not block.
type Observer interface {
	CallFinished(context.Context, Call)
	FellBack(ctx context.Context, from, to Name, kind Kind)
	BreakerChanged(n Name, model executor.ModelVersion, open bool)
}

// Gate limits calls to a provider across the whole fleet. tasks implements it in Redis.
type Gate interface {
	// Enter asks for a place. It returns leave, to be called once when the call is over, or
	// *executor.Parked when no place is free soon, or the context's error.
	Enter(ctx context.Context, n Name) (leave func(), err error)
	// Close keeps everybody from calling n until the given time (a 429 said so).
	Close(ctx context.Context, n Name, until time.Time)
}

// Timeouts bound one call; zero means no bound but the attempt's.
type Timeouts struct {
	Total      time.Duration
	FirstToken time.Duration
	Idle       time.Duration // between tokens
}

// GuardConfig is what Guard puts around a client.
type GuardConfig struct {
	ModelProvider ModelProvider
	Model         executor.ModelVersion // configured; for records of failed calls
	Timeouts      Timeouts
	Stream        bool     // answer Complete by streaming, so that the token timers work
	Breaker       *Breaker // nil: none
	Gate          Gate     // nil: no limit
	Observer      Observer // nil: nobody is told
}

// BreakerConfig: zero values mean the defaults named.
type BreakerConfig struct {
	Failures int           // consecutive failures that open it; 5
	Cooldown time.Duration // 10s
}

// Breaker stops calls to a provider that keeps failing.
type Breaker struct{}

func NewBreaker(BreakerConfig) *Breaker { panic("unbuilt") }

// Guard returns c with timeouts, breaker, fleet limits and records around every call.
func Guard(c Client, cfg GuardConfig) Client { panic("unbuilt") }

// Chain asks its clients in order until one answers. It is itself a Client.
type Chain struct{}

// ChainOption changes when a chain moves on.
type ChainOption func(*Chain)

func FallbackOn(kinds ...Kind) ChainOption             { panic("unbuilt") } // in addition to the table
func FallbackWhen(next func(Error) bool) ChainOption   { panic("unbuilt") } // instead of the table
func ObserveChain(o Observer) ChainOption              { panic("unbuilt") } // FellBack
func NewChain(first Client, rest ...Client) *Chain     { panic("unbuilt") }
func (c *Chain) With(opts ...ChainOption) *Chain       { panic("unbuilt") }
func (c *Chain) Able(need Capabilities) (names []Name) { panic("unbuilt") } // who may be asked
func (c *Chain) Name() Name                            { panic("unbuilt") } // of the first client
func (c *Chain) Capabilities() Capabilities            { panic("unbuilt") } // union
func (c *Chain) Complete(context.Context, Request) (Response, error) {
	panic("unbuilt")
}
func (c *Chain) Stream(context.Context, Request) iter.Seq2[Chunk, error] { panic("unbuilt") }
