package telemetry

import (
	"context"

	"github.com/rs/zerolog"

	"fourfold/executor"
	"fourfold/provider"
)

type callKey struct {
	provider      provider.Name
	modelProvider provider.ModelProvider
	model         executor.ModelVersion
	kind          provider.Kind
	status        string // class
}

// The metrics of a callMeter, as indices.
const (
	callCount = 0

	callLatency    = 0
	callFirstToken = 1
)

type callMeter struct{ meter }

func (s *Sink) newCallMeter(k callKey) *callMeter {
	s.gauges.called(k.provider, k.modelProvider)
	who := []string{tag("model_provider", s.names.modelProvider(k.modelProvider)), tag("model", s.names.model(k.model))}
	m := &callMeter{}
	m.counts = []counter{{
		name: "provider.calls",
		tags: with(who, tag("error_kind", k.kind.String()), tag("status_class", k.status)),
	}}
	m.dists = []samples{
		callLatency:    {name: "provider.latency", tags: who},
		callFirstToken: {name: "provider.time_to_first_token", tags: who},
	}
	return m
}

// CallFinished counts the call and the tokens that its step paid, also for an answer that was no good, and logs it if it
// failed.
func (s *Sink) CallFinished(ctx context.Context, c provider.Call) {
	if s.ended() {
		return
	}
	key := callKey{c.Provider, c.ModelProvider, c.Model, c.Kind, statusClass(c.Status)}
	m := s.calls.get(key)
	for !m.lock() {
		m = s.calls.get(key)
	}
	m.add(callCount, 1)
	m.observe(callLatency, c.Duration.Seconds())
	if c.FirstToken > 0 {
		m.observe(callFirstToken, c.FirstToken.Seconds())
	}
	m.unlock()
	if !c.Scope.Step.IsZero() {
		s.pay(tokenKey{c.Scope.Flow, c.Scope.Step, c.ModelProvider, c.Model}, c.Usage)
	}
	if c.Kind != provider.KindNone {
		s.logCall(ctx, &c)
	}
}

// logCall writes the line of a failed call. The status is http_status: Datadog reads `status` as the line's own level.
func (s *Sink) logCall(ctx context.Context, c *provider.Call) {
	level := zerolog.WarnLevel
	if c.Reason == provider.ReasonAborted {
		level = zerolog.InfoLevel // the worker ended it itself
	}
	e := s.log.event(level)
	if e == nil {
		return
	}
	e = e.Str("provider", ident(c.Provider.String()))
	if !c.ModelProvider.IsZero() {
		e = e.Str("model_provider", ident(c.ModelProvider.String()))
	}
	if !c.Model.IsZero() {
		e = e.Str("model_version", ident(c.Model.String()))
	}
	e = e.Stringer("error_kind", c.Kind).Stringer("reason", c.Reason)
	if c.Status != 0 {
		e = e.Int("http_status", c.Status)
	}
	if c.FirstToken > 0 {
		e = e.Int64("first_token_ms", c.FirstToken.Milliseconds())
	}
	if c.Usage.Known() {
		e = e.Dict("token_usage", zerolog.Dict().Int64("input", c.Usage.Input()).Int64("output", c.Usage.Output()))
	}
	e = traced(ctx, e)
	e.Int64("duration_ms", c.Duration.Milliseconds()).Int("attempt", c.Scope.Attempt).
		Str("run", ident(c.Scope.Run)).Str("flow", ident(c.Scope.Flow)).Str("step", ident(c.Scope.Step.String())).
		Msg("provider call failed")
}

// FellBack counts the change to the next provider.
func (s *Sink) FellBack(_ context.Context, from, to provider.Name, kind provider.Kind) {
	if s.ended() {
		return
	}
	s.statsd.count("provider.fallbacks", 1, []string{
		tag("from", s.names.provider(from)), tag("to", s.names.provider(to)), tag("error_kind", kind.String()),
	})
}
