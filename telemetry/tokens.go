package telemetry

import (
	"fourfold/executor"
	"fourfold/provider"
)

// tokenKey says for whom tokens were paid, and to whom.
type tokenKey struct {
	flow          string
	step          executor.StepID
	modelProvider provider.ModelProvider
	model         executor.ModelVersion
}

// The metrics of a tokenMeter, as indices.
const (
	tokensIn  = 0
	tokensOut = 1
)

type tokenMeter struct{ meter }

func (s *Sink) newTokenMeter(k tokenKey) *tokenMeter {
	tags := with(s.names.flowStep(k.flow, k.step), tag("model_provider", s.names.modelProvider(k.modelProvider)), tag("model", s.names.model(k.model)))
	m := &tokenMeter{}
	m.counts = []counter{
		tokensIn:  {name: "step.tokens", tags: with(tags, "token_type:input")},
		tokensOut: {name: "step.tokens", tags: with(tags, "token_type:output")},
	}
	return m
}

// pay counts tokens. Unknown usage is not counted: it is not zero.
func (s *Sink) pay(key tokenKey, u executor.Usage) {
	if !u.Known() {
		return
	}
	m := s.tokens.get(key)
	for !m.lock() {
		m = s.tokens.get(key)
	}
	m.add(tokensIn, u.Input())
	m.add(tokensOut, u.Output())
	m.unlock()
}
