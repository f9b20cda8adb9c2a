package provider

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"fourfold/content"
	"fourfold/executor"
)

// Client is one provider and model, or a chain of them. Its methods are called from many goroutines.
//
// A client makes one call and no retries of its own. What goes wrong it returns as an Error made by Judge, whatever it was; an
// ended context ends the call at once. providertest.Run holds a client against all of this.
type Client interface {
	// Name is the provider's name in the configuration, and never changes.
	Name() Name
	// Capabilities is what the provider can do, and never changes.
	Capabilities() Capabilities
	// Complete returns the whole answer. The Response beside an error has the Model and Usage that were paid for, when the
	// provider said so, and never a text.
	Complete(context.Context, Request) (Response, error)
	// Stream yields chunks in order; the last pair has either the final chunk (Done) or an error. A pair with an error may
	// have Done too, with the Model and Usage paid for and without a text. When the loop is left early, or ctx ends, the
	// call is over. The sequence may be ranged over once.
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

// Response is a complete answer; beside an error, what it cost.
type Response struct {
	Text          content.Of[string]
	Model         executor.ModelVersion
	Usage         executor.Usage // zero: the provider did not say; through a chain that of failed providers too
	Provider      Name           // who answered, also through a chain
	ModelProvider ModelProvider
	FirstToken    time.Duration // zero when not streamed
}

// Chunk is a piece of a streamed answer.
type Chunk struct {
	Text content.Of[string] // the new text; zero on the last chunk
	Tool bool               // a tool-call delta: a token, but no text
	Done *Response          // on the last chunk only: whole text, usage, model; beside an error without a text
}

// IsToken reports whether the chunk shows a token: new text, or a tool-call delta. Role-only and empty chunks are none.
func (c Chunk) IsToken() bool { return c.Tool || c.Text.Reveal() != "" }

// Call is the record of one finished call to one provider: all that may be logged of it. A call that breaker or gate kept from
// being made has none. One whose client panicked is a provider_error without a status.
type Call struct {
	Provider      Name
	ModelProvider ModelProvider
	Requested     executor.ModelVersion // as configured
	Model         executor.ModelVersion // as answered; as configured when the call failed before the model was named
	Kind          Kind                  // KindNone: answered
	Reason        Reason
	Status        int // HTTP; 0: none
	Duration      time.Duration
	FirstToken    time.Duration // zero: not streamed
	Usage         executor.Usage
	Scope         Scope
}

// Observer is told what providers do. Its methods are called from many goroutines and must not block.
type Observer interface {
	// CallFinished is told once for each call that was made, by Guard. The context is the call's and may have ended.
	CallFinished(context.Context, Call)
	// FellBack is told by a chain that moves on. kind is KindNone when from was not asked, because its gate said not yet.
	FellBack(ctx context.Context, from, to Name, kind Kind)
	// BreakerChanged is told by Guard when a breaker opens, and when it closes again.
	BreakerChanged(n Name, model executor.ModelVersion, open bool)
}

// Gate limits calls to a provider across the whole fleet. tasks implements it in Redis.
type Gate interface {
	// Enter asks for a place. It returns leave, to be called once when the call is over, or
	// *executor.Parked when no place is free soon, or the context's error. Any other error says that the gate is out of
	// order, and stops nobody.
	Enter(ctx context.Context, n Name) (leave func(), err error)
	// Close keeps everybody from calling n until the given time (a 429 said so).
	Close(ctx context.Context, n Name, until time.Time)
}
