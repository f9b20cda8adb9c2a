package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"fourfold/provider"
)

// The ways in which a call fails. Each makes one signal, and the table of package provider makes the error of it.

func (a *ask) judge(s provider.Signal) error {
	s.Provider = a.Name
	s.AfterFirstToken = s.AfterFirstToken || a.shown
	return provider.Judge(s)
}

func (a *ask) saw(what provider.Seen) error { return a.judge(provider.Signal{Seen: what}) }

// unencodable is a request that cannot be written, because a schema in it is no JSON.
func (a *ask) unencodable(err error) error {
	return a.judge(provider.Signal{Seen: provider.SeenStatus, Status: http.StatusBadRequest, Cause: err})
}

// network is a call that broke before its answer was whole.
func (a *ask) network(ctx context.Context, err error) error {
	s := provider.FromError(ctx, err)
	// The transport's own timers (dial, handshake, headers) end a call while its context still lives.
	if timer, ok := errors.AsType[net.Error](err); ok && timer.Timeout() && s.Seen == provider.SeenNetwork {
		s.Seen = provider.SeenTimeout
	}
	return a.judge(s)
}

// unread is a body that could not be read to its end.
func (a *ask) unread(ctx context.Context, err error) error {
	if errors.Is(err, errTooLarge) {
		return a.saw(provider.SeenOversize)
	}
	return a.network(ctx, err)
}

// oversizeEvent is an event beyond the bound. Nothing but text is that large, so the answer had begun.
func (a *ask) oversizeEvent() error {
	return a.judge(provider.Signal{Seen: provider.SeenOversize, AfterFirstToken: a.emit != nil})
}

// refused is an HTTP answer that is no success. The status counts even if its body is cut, huge or never comes.
func (a *ask) refused(ctx context.Context, resp *http.Response, cancel context.CancelFunc) error {
	timer := time.AfterFunc(errorBodyWait, cancel)
	defer timer.Stop()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if ctx.Err() != nil {
		return a.network(ctx, context.Cause(ctx))
	}
	return a.judge(provider.FromHTTP(resp.StatusCode, resp.Header, body, time.Now()))
}

// errorBodyWait is how long the body of an error is waited for.
const errorBodyWait = time.Second

// inBand is an error object in a success or within a stream.
func (a *ask) inBand(data []byte, h http.Header) error {
	if a.turn.failure != nil {
		data = a.turn.failure
	}
	s, ok := provider.FromInBand(data)
	if !ok {
		s = provider.Signal{Seen: provider.SeenInBand}
	}
	if !s.HasRetryAfter {
		s.RetryAfter, s.HasRetryAfter = provider.RetryAfterFrom(h, time.Now())
	}
	return a.judge(s)
}

// malformedEvent is an event that is no JSON. Skipping it might leave a hole in the answer that nobody would notice.
func (a *ask) malformedEvent() error { return a.saw(provider.SeenMalformedEvent) }
