package config

import (
	"net"
	"net/url"
	"strings"
)

// tracesPath is where receivers of OTLP take spans.
const tracesPath = "/v1/traces"

// applyTraces lays --traces over the file: an address turns traces on, the empty one off.
func (f *File) applyTraces(o Overrides) {
	switch {
	case o.Traces == nil:
		return
	case *o.Traces == "":
		f.Traces = nil
		return
	case f.Traces == nil:
		f.Traces = &Traces{}
	}
	f.Traces.OTLPEndpoint = *o.Traces
	f.flags["traces"] = "--traces"
}

// fillTraces completes what is on; it turns nothing on. The variables are those of OpenTelemetry, and Datadog's for a node's
// agent.
func (f *File) fillTraces(env Env) {
	t := f.Traces
	if t == nil {
		return
	}
	if t.Sample == nil {
		t.Sample = new(1.0)
	}
	signal, base, agent := env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), env.get("OTEL_EXPORTER_OTLP_ENDPOINT"), env.get("DD_AGENT_HOST")
	switch {
	case t.OTLPEndpoint != "":
	case signal != "":
		t.OTLPEndpoint = signal
	case base != "":
		t.OTLPEndpoint = strings.TrimSuffix(base, "/") + tracesPath
	case agent != "":
		t.OTLPEndpoint = "http://" + net.JoinHostPort(agent, "4318")
	default:
		t.OTLPEndpoint = DefaultOTLP
	}
	if u, err := url.Parse(t.OTLPEndpoint); err == nil && u.Host != "" && strings.Trim(u.Path, "/") == "" {
		u.Path = tracesPath
		t.OTLPEndpoint = u.String()
	}
}

func (f *File) checkTraces() {
	if f.Traces == nil {
		return
	}
	if !validBaseURL(f.Traces.OTLPEndpoint) {
		f.problem("traces.otlp_endpoint", "must be an http or https address without user, query and fragment (see OTEL_EXPORTER_OTLP_HEADERS)")
	}
	if s := *f.Traces.Sample; s < 0 || s > 1 {
		f.problem("traces.sample", "must be a share, from 0 to 1")
	}
}
