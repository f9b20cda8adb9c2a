package config_test

import (
	"testing"

	"fourfold/cmd/internal/config"
)

func TestTracesAreOffUnlessTurnedOnAndGoWhereTheNearestWordSays(t *testing.T) {
	otel := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector/otlp/"}
	for _, c := range []struct {
		name, text string
		flag       *string
		env        map[string]string
		want       string // empty: off
		sample     float64
	}{
		{name: "nothing said", env: otel},
		{name: "an absent value", text: "traces:", env: otel},
		{name: "an empty block", text: "traces: {}", want: "http://127.0.0.1:4318/v1/traces", sample: 1},
		{name: "a share", text: "traces: {sample: 0.25}", want: "http://127.0.0.1:4318/v1/traces", sample: 0.25},
		{name: "a whole number", text: "traces: {sample: 0}", want: "http://127.0.0.1:4318/v1/traces", sample: 0},
		{name: "a host", text: "traces: {otlp_endpoint: 'http://h:4318'}", env: otel, want: "http://h:4318/v1/traces", sample: 1},
		{name: "a path", text: "traces: {otlp_endpoint: 'http://h:4318/there'}", want: "http://h:4318/there", sample: 1},
		{name: "OpenTelemetry's variable", text: "traces: {}", env: otel, want: "https://collector/otlp/v1/traces", sample: 1},
		{
			name: "the variable for traces", text: "traces: {}", want: "http://t/spans", sample: 1,
			env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://o", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t/spans"},
		},
		{name: "Datadog's variable", text: "traces: {}", env: map[string]string{"DD_AGENT_HOST": "fd00::1"}, want: "http://[fd00::1]:4318/v1/traces", sample: 1},
		{name: "the flag turns on", flag: new("http://flag:1"), want: "http://flag:1/v1/traces", sample: 1},
		{name: "the flag stands above", text: "traces: {otlp_endpoint: 'http://file:1', sample: 0.5}", flag: new("http://flag:1"), want: "http://flag:1/v1/traces", sample: 0.5},
		{name: "the flag turns off", text: "traces: {}", flag: new("")},
	} {
		got := mustFinish(t, c.text, config.Overrides{Traces: c.flag}, c.env).Traces
		switch {
		case got == nil && c.want != "", got != nil && (got.OTLPEndpoint != c.want || *got.Sample != c.sample):
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
}
