package wire

import (
	"context"
	"iter"
	"mime"
	"net/http"
	"strings"
	"time"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
)

// Dialect is what one API does differently: how a question is written and how an answer is read. Its methods are called
// from many goroutines.
type Dialect interface {
	// Encode writes a request: the path below the base URL, with a query if it needs one, and the JSON body.
	Encode(req provider.Request, stream bool) (path string, body []byte, err error)
	// Whole folds a whole JSON answer into the turn. It keeps nothing of data.
	Whole(data []byte, t *Turn) Reading
	// Event folds the data of one event of a stream into the turn. name is the event's, empty for most APIs.
	Event(name string, data []byte, t *Turn) Reading
}

// Identity is what a client says of itself.
type Identity struct {
	Name          provider.Name
	Model         string // as configured; named in answers that name none
	ModelProvider provider.ModelProvider
	Capabilities  provider.Capabilities
}

// Client asks one model of one provider over HTTP. It holds what the APIs share: reading, streaming and classifying.
type Client struct {
	Identity
	transport *Transport
	dialect   Dialect
}

// NewClient joins a dialect and a transport.
func NewClient(id Identity, cfg Config, d Dialect) (*Client, error) {
	t, err := NewTransport(cfg)
	if err != nil {
		return nil, err
	}
	return &Client{Identity: id, transport: t, dialect: d}, nil
}

// Close closes the connections that no call uses. Calls may still be made afterwards.
func (c *Client) Close() { c.transport.Close() }

// Complete asks for the whole answer at once. With an error, the response still has what is known of provider, model and
// usage: a failed answer was paid for too.
func (c *Client) Complete(ctx context.Context, req provider.Request) (provider.Response, error) {
	a := c.newAsk(req, nil)
	err := a.run(ctx, false)
	return a.response(err), err
}

// Stream asks for the answer in pieces. With an error, the chunk's Done has what is known of model and usage, and no text.
func (c *Client) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		left := false
		a := c.newAsk(req, func(ch provider.Chunk) bool {
			left = left || !yield(ch, nil)
			return !left
		})
		err := a.run(ctx, true)
		if left {
			return
		}
		done := a.response(err)
		yield(provider.Chunk{Done: &done}, err)
	}
}

// ask is one call from question to answer.
type ask struct {
	*Client
	req        provider.Request
	emit       func(provider.Chunk) bool // nil: nobody wants pieces; false: nobody wants more
	turn       Turn
	started    time.Time
	firstToken time.Duration
	shown      bool // a token was handed out, or was on its way
}

func (c *Client) newAsk(req provider.Request, emit func(provider.Chunk) bool) *ask {
	return &ask{Client: c, req: req, emit: emit, started: time.Now()}
}

const eventStream = "text/event-stream"

func (a *ask) run(ctx context.Context, stream bool) error {
	path, body, err := a.dialect.Encode(a.req, stream)
	if err != nil {
		return a.unencodable(err)
	}
	accept := "application/json"
	if stream {
		accept = eventStream + ", application/json" // some answer whole all the same
	}
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := a.transport.Post(calling, path, body, accept)
	if err != nil {
		return a.network(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return a.refused(ctx, resp, cancel)
	}
	b := newBounded(resp.Body, maxBody)
	shape, err := b.sniff(declared(resp.Header))
	switch {
	case err != nil:
		return a.unread(ctx, err)
	case shape == shapeJSON:
		return a.readWhole(ctx, b, resp.Header)
	case shape == shapeEvents:
		return a.readEvents(ctx, b, resp.Header, cancel)
	}
	return a.saw(provider.SeenNoAnswer)
}

func declared(h http.Header) shape {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if strings.EqualFold(media, eventStream) {
		return shapeEvents
	}
	return shapeOther
}

// readWhole reads a JSON answer, which a provider may also give where a stream was asked for.
func (a *ask) readWhole(ctx context.Context, b *bounded, h http.Header) error {
	var read Reading
	var inBand error
	err := whole(b, func(data []byte) {
		if read = a.turn.decode(data, a.dialect.Whole); read == ErrorBody {
			inBand = a.inBand(data, h)
		}
	})
	switch {
	case err != nil:
		return a.unread(ctx, err)
	case read == ErrorBody:
		return inBand
	case read != Answer:
		return a.saw(provider.SeenNoAnswer)
	}
	a.turn.lose()
	if !a.show() {
		return nil
	}
	return a.settle()
}

// show hands out what was said since the last time. False: nobody wants more.
func (a *ask) show() bool {
	text, token := a.turn.take()
	if !token {
		return true
	}
	a.shown = a.emit != nil
	if a.firstToken == 0 {
		a.firstToken = time.Since(a.started)
	}
	if a.emit == nil {
		return true
	}
	if text == "" {
		return a.emit(provider.Chunk{Tool: true})
	}
	return a.emit(provider.Chunk{Text: content.New(text)})
}

// settle judges a complete answer: is there a text to return?
func (a *ask) settle() error {
	t := &a.turn
	switch {
	case t.finish == Errored:
		return a.judge(provider.Signal{Seen: provider.SeenInBand})
	case t.finish == Refused || (t.refused && t.text.Len() == 0):
		return a.saw(provider.SeenRefusal)
	case t.finish == Filtered:
		return a.saw(provider.SeenContentFilter)
	case t.finish == Truncated:
		return a.saw(provider.SeenTruncated)
	case t.finish == Garbled:
		return a.saw(provider.SeenMalformedToolCall)
	case t.finish == ToolCalls || (t.tool && t.text.Len() == 0):
		return a.saw(provider.SeenToolCalls)
	case !t.choice || strings.TrimSpace(t.text.String()) == "":
		return a.saw(provider.SeenEmpty)
	case t.invalid && a.req.Output != nil:
		return a.saw(provider.SeenNotJSON)
	}
	return nil
}

// response is what is known of the answer: without its text when the call failed.
func (a *ask) response(err error) provider.Response {
	r := provider.Response{
		Model:         executor.ModelVersionOf(a.turn.Model),
		Usage:         a.turn.Usage,
		Provider:      a.Name,
		ModelProvider: a.ModelProvider,
	}
	if a.turn.Model == "" {
		r.Model = executor.ModelVersionOf(a.Model)
	}
	if a.emit != nil {
		r.FirstToken = a.firstToken
	}
	if err == nil {
		r.Text = content.New(a.turn.text.String())
	}
	return r
}
