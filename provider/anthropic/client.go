package anthropic

import (
	"context"
	"iter"

	"fourfold/provider"
	"fourfold/provider/internal/wire"
)

// Client asks one model. It is safe for use by many goroutines, and makes exactly one request for each call.
type Client struct{ wire *wire.Client }

var _ provider.Client = (*Client)(nil)

// Name returns the configured name.
func (c *Client) Name() provider.Name { return c.wire.Name }

// Capabilities returns the configured capabilities. Nothing is probed.
func (c *Client) Capabilities() provider.Capabilities { return c.wire.Capabilities }

// Complete asks for the whole answer at once. The error is one [provider.Error]; the response then still has what is known
// of model and usage, because a failed answer was paid for too.
func (c *Client) Complete(ctx context.Context, req provider.Request) (provider.Response, error) {
	return c.wire.Complete(ctx, req)
}

// Stream asks for the answer in pieces. A [provider.Error] comes last, in a chunk whose Done has what is known of model and
// usage. Leaving the loop early closes the connection.
func (c *Client) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return c.wire.Stream(ctx, req)
}

// Close closes the connections that no call uses. Calls may still be made afterwards.
func (c *Client) Close() { c.wire.Close() }
