package executor

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"time"
)

// ErrEnvelope is the error of decoding what is no envelope. It does not quote it.
var ErrEnvelope = errors.New("executor: not an envelope")

// Envelope is what may be logged of a step: numbers, enumerations and identifiers, never content.
// Nothing reachable from it can hold free text.
type Envelope struct {
	Step         StepID
	Outcome      Outcome
	FailureClass FailureClass  // of the last attempt; none when the step is OK or ABSTAINED
	Attempts     int           // made, over all deliveries
	Latency      time.Duration // spent in Run, over all deliveries; encoded in whole milliseconds
	Model        ModelVersion  // that answered last; zero: unknown
	Prompt       PromptSHA     // zero: none
	Usage        Usage         // over all attempts, failed ones included; zero: unknown
}

// envelopeJSON is the public form of an envelope.
type envelopeJSON struct {
	Step         StepID       `json:"step"`
	Outcome      Outcome      `json:"outcome"`
	FailureClass FailureClass `json:"failure_class,omitzero"`
	Attempts     int          `json:"attempts"`
	LatencyMS    int64        `json:"latency_ms"`
	Model        ModelVersion `json:"model_version,omitzero"`
	Prompt       PromptSHA    `json:"prompt_bundle_sha,omitzero"`
	Usage        Usage        `json:"token_usage,omitzero"`
}

// MarshalJSON returns one object with the keys step, outcome, failure_class, attempts, latency_ms,
// model_version, prompt_bundle_sha and token_usage. failure_class and the last three are absent when
// they are zero. A struct that embeds an Envelope inherits this method.
func (e Envelope) MarshalJSON() ([]byte, error) {
	return json.Marshal(envelopeJSON{
		e.Step, e.Outcome, e.FailureClass, e.Attempts, e.Latency.Milliseconds(), e.Model, e.Prompt, e.Usage,
	})
}

// UnmarshalJSON is the inverse of [Envelope.MarshalJSON], to the millisecond. Further keys are ignored.
// Error: [ErrEnvelope], and e is then left as it was.
func (e *Envelope) UnmarshalJSON(data []byte) error {
	var raw envelopeJSON
	if err := json.Unmarshal(data, &raw); err != nil {
		return ErrEnvelope
	}
	if raw.Attempts < 0 || raw.LatencyMS < 0 || raw.LatencyMS > math.MaxInt64/int64(time.Millisecond) {
		return ErrEnvelope
	}
	*e = Envelope{
		raw.Step, raw.Outcome, raw.FailureClass, raw.Attempts, time.Duration(raw.LatencyMS) * time.Millisecond,
		raw.Model, raw.Prompt, raw.Usage,
	}
	return nil
}

// String returns the envelope on one line, as key=value pairs with the keys of [Envelope.MarshalJSON].
func (e Envelope) String() string { return string(e.appendText(make([]byte, 0, 192))) }

func (e Envelope) appendText(b []byte) []byte {
	b = append(append(b, "step="...), e.Step.s...)
	b = append(append(b, " outcome="...), e.Outcome.String()...)
	if !e.FailureClass.IsZero() {
		b = append(append(b, " failure_class="...), e.FailureClass.String()...)
	}
	b = strconv.AppendInt(append(b, " attempts="...), int64(e.Attempts), 10)
	b = strconv.AppendInt(append(b, " latency_ms="...), e.Latency.Milliseconds(), 10)
	if !e.Model.IsZero() {
		b = append(append(b, " model_version="...), e.Model.s...)
	}
	if !e.Prompt.IsZero() {
		b = append(append(b, " prompt_bundle_sha="...), e.Prompt.String()...)
	}
	if e.Usage.Known() {
		b = strconv.AppendInt(append(b, " token_usage.input="...), e.Usage.input, 10)
		b = strconv.AppendInt(append(b, " token_usage.output="...), e.Usage.output, 10)
	}
	return b
}

// LogValue returns the envelope as a group with the keys of [Envelope.MarshalJSON].
func (e Envelope) LogValue() slog.Value {
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs, slog.String("step", e.Step.s), slog.String("outcome", e.Outcome.String()))
	if !e.FailureClass.IsZero() {
		attrs = append(attrs, slog.String("failure_class", e.FailureClass.String()))
	}
	attrs = append(attrs, slog.Int("attempts", e.Attempts), slog.Int64("latency_ms", e.Latency.Milliseconds()))
	if !e.Model.IsZero() {
		attrs = append(attrs, slog.String("model_version", e.Model.s))
	}
	if !e.Prompt.IsZero() {
		attrs = append(attrs, slog.String("prompt_bundle_sha", e.Prompt.String()))
	}
	if e.Usage.Known() {
		attrs = append(attrs, slog.Group("token_usage", slog.Int64("input", e.Usage.input), slog.Int64("output", e.Usage.output)))
	}
	return slog.GroupValue(attrs...)
}
