package traces_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
	"fourfold/telemetry/telemetrytest"
	"fourfold/telemetry/traces"
)

const canary = "CANARY: the customer's words"

var (
	primary = provider.MustName("primary")
	backup  = provider.MustName("backup")
	asked   = executor.ModelVersionOf("gpt-4o")
	gpt     = executor.ModelVersionOf("gpt-4o-2024-08-06")
	scope   = provider.Scope{Run: "default.4k2abcdefghijklmnopqrstuvw", Flow: "intake", Step: executor.MustStepID("classify"), Attempt: 2}
)

// open returns a Provider and the spans that it was given.
func open(t *testing.T, sample float64) (*traces.Provider, func() tracetest.SpanStubs) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	p, err := traces.Open(t.Context(), traces.Config{Exporter: kept, Sample: sample})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, func() tracetest.SpanStubs {
		p.Flush(context.Background())
		return kept.GetSpans()
	}
}

func attributes(s tracetest.SpanStub) map[string]any {
	out := map[string]any{}
	for _, a := range s.Attributes {
		out[string(a.Key)] = a.Value.AsInterface()
	}
	return out
}

func TestCallsFollowTheConventionsForGenerativeAI(t *testing.T) {
	openai, err := provider.ParseModelProvider("openai")
	if err != nil {
		t.Fatal(err)
	}
	p, spans := open(t, 1)
	o := p.Observe(telemetry.Discard)
	ctx, parent := p.Tracer().Start(t.Context(), "parent")
	calls := []provider.Call{
		{
			Provider: primary, ModelProvider: openai, Requested: asked, Model: gpt, Status: 200, Duration: 1500 * time.Millisecond,
			FirstToken: 250 * time.Millisecond, Usage: executor.Tokens(812, 64), Scope: scope,
		},
		{Provider: primary, ModelProvider: openai, Requested: asked, Model: asked, Kind: provider.KindRateLimit, Reason: provider.ReasonQuota, Status: 429, Duration: time.Second},
		{Provider: backup, Kind: provider.KindNetwork, Reason: provider.ReasonAborted, Duration: time.Minute},
	}
	for _, c := range calls {
		o.CallFinished(ctx, c)
	}
	parent.End()
	want := []struct {
		name, status string
		attributes   map[string]any
	}{
		{"chat gpt-4o", "Unset", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o",
			"gen_ai.response.model": "gpt-4o-2024-08-06", "gen_ai.usage.input_tokens": int64(812), "gen_ai.usage.output_tokens": int64(64),
			"gen_ai.response.time_to_first_chunk": 0.25, "http.response.status_code": int64(200),
			"fourfold.run": scope.Run, "fourfold.flow": "intake", "fourfold.step": "classify", "fourfold.attempt": int64(2), "fourfold.provider": "primary",
		}},
		{"chat gpt-4o", "Error rate_limit", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o", "error.type": "rate_limit",
			"fourfold.reason": "quota", "http.response.status_code": int64(429), "fourfold.provider": "primary",
		}},
		{"chat", "Unset", map[string]any{
			"gen_ai.operation.name": "chat", "error.type": "network", "fourfold.reason": "aborted", "fourfold.provider": "backup",
		}},
	}
	got := spans()
	if len(got) != len(want)+1 {
		t.Fatalf("%d spans", len(got))
	}
	for i, w := range want {
		s := got[i]
		status := strings.TrimSpace(s.Status.Code.String() + " " + s.Status.Description)
		if s.Name != w.name || status != w.status || s.SpanKind != trace.SpanKindClient {
			t.Errorf("span %d: %s, %s, %v", i, s.Name, status, s.SpanKind)
		}
		if took := s.EndTime.Sub(s.StartTime); took != calls[i].Duration {
			t.Errorf("span %d took %v", i, took)
		}
		if s.Parent.SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("span %d is no child of its step", i)
		}
		if diff := cmp.Diff(w.attributes, attributes(s)); diff != "" {
			t.Errorf("span %d (-want +got):\n%s", i, diff)
		}
	}
}

// told remembers in which span it was told of a call.
type told struct {
	telemetrytest.Recorder
	in trace.SpanContext
}

func (o *told) CallFinished(ctx context.Context, c provider.Call) {
	o.in = trace.SpanContextFromContext(ctx)
	o.Recorder.CallFinished(ctx, c)
}

func TestWhatIsObservedIsToldOnInTheSpanOfTheCall(t *testing.T) {
	p, spans := open(t, 1)
	var next told
	o := p.Observe(&next)
	ctx, step := p.Tracer().Start(t.Context(), "step")
	o.CallFinished(ctx, provider.Call{Provider: primary, Kind: provider.KindNetwork})
	o.FellBack(ctx, primary, backup, provider.KindNetwork)
	o.StepDuplicate(ctx, "f", scope.Step)
	step.End()
	got := spans()
	if len(got) != 2 || !next.in.Equal(got[0].SpanContext) {
		t.Fatalf("told in %v of %d spans", next.in, len(got))
	}
	if n := next.Told(); len(n.Calls) != 1 || len(n.Fallbacks) != 1 || len(n.Duplicates) != 1 {
		t.Errorf("told on: %+v", n)
	}
	events := got[1].Events
	if len(events) != 1 || events[0].Name != "fourfold.fallback" {
		t.Fatalf("events %v", events)
	}
	event := map[string]any{}
	for _, a := range events[0].Attributes {
		event[string(a.Key)] = a.Value.AsInterface()
	}
	if diff := cmp.Diff(map[string]any{"fourfold.from": "primary", "fourfold.to": "backup", "error.type": "network"}, event); diff != "" {
		t.Error(diff)
	}
}

func TestContentInAnyFieldOfACallIsInNoSpan(t *testing.T) {
	p, spans := open(t, 1)
	o := p.Observe(telemetry.Discard)
	o.CallFinished(t.Context(), provider.Call{
		Kind: provider.KindAuth, Requested: executor.ModelVersionOf(canary), Model: executor.ModelVersionOf(canary), Scope: provider.Scope{Run: canary, Flow: canary},
	})
	got := spans()
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || strings.Contains(string(text), "CANARY") || !strings.Contains(string(text), "[content]") {
		t.Errorf("%d spans: %s", len(got), text)
	}
}

func start(ctx context.Context, p *traces.Provider, run string) trace.SpanContext {
	_, span := p.Tracer().Start(provider.WithScope(ctx, provider.Scope{Run: run, Step: scope.Step}), "step")
	span.End()
	return span.SpanContext()
}

func TestARunIsRecordedWholeOrNotAtAll(t *testing.T) {
	p, spans := open(t, 0.25)
	recorded := 0
	for i := range 1000 {
		run := fmt.Sprintf("default.%d", i)
		first, second := start(t.Context(), p, run), start(t.Context(), p, run)
		if first.TraceID() != second.TraceID() || first.IsSampled() != second.IsSampled() || first.SpanID() == second.SpanID() {
			t.Fatalf("%s: %v and %v", run, first, second)
		}
		if first.IsSampled() {
			recorded++
		}
	}
	if recorded < 200 || recorded > 300 || len(spans()) != 2*recorded { // fixed by the names of the runs
		t.Errorf("%d runs of 1000 recorded, %d spans", recorded, len(spans()))
	}
}

func TestTheProducersDecisionStands(t *testing.T) {
	remote := func(flags trace.TraceFlags) context.Context {
		return trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: flags, Remote: true,
		}))
	}
	for _, sample := range []float64{0, 1} {
		p, _ := open(t, sample)
		if !start(remote(trace.FlagsSampled), p, "default.x").IsSampled() || start(remote(0), p, "default.x").IsSampled() {
			t.Errorf("sample %v overrules the producer", sample)
		}
		if own := start(t.Context(), p, "default.x"); own.IsSampled() != (sample == 1) {
			t.Errorf("sample %v: recorded %v", sample, own.IsSampled())
		}
	}
}

// Spans that a handler starts as roots are not the run's.
func TestOnlyStepsHaveTheTraceOfTheirRun(t *testing.T) {
	p, _ := open(t, 1)
	step := start(t.Context(), p, scope.Run)
	_, root := p.Tracer().Start(provider.WithScope(t.Context(), scope), "root")
	if root.SpanContext().TraceID() == step.TraceID() {
		t.Error("a root of an attempt is in the trace of the run")
	}
	_, nobodys := p.Tracer().Start(t.Context(), "root")
	if !nobodys.SpanContext().IsValid() {
		t.Error("a root without a run has no ids")
	}
}

func TestTracesThatAreOffAreNothing(t *testing.T) {
	var p *traces.Provider
	var next telemetrytest.Recorder
	if p.Tracer() != nil || p.Observe(&next) != telemetry.Observer(&next) {
		t.Error("the nil Provider makes something")
	}
	p.Flush(t.Context())
	p.Close()
}

func TestOpenRefusesWhatCannotBe(t *testing.T) {
	for _, c := range []traces.Config{{Sample: 1}, {Endpoint: "http://h", Sample: 1.1}, {Endpoint: "http://h", Sample: -1}} {
		if p, err := traces.Open(t.Context(), c); err == nil {
			p.Close()
			t.Errorf("%+v was taken", c)
		}
	}
}

// lines is a log that remembers.
type lines struct {
	mu    sync.Mutex
	lines []string
}

func (l *lines) Debug(string, ...any) {}
func (l *lines) Info(string, ...any)  {}
func (l *lines) Error(string, ...any) {}
func (l *lines) Warn(msg string, kv ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, v := range kv {
		if err, ok := v.(error); ok {
			kv[i] = telemetry.ErrorCode(err)
		}
	}
	l.lines = append(l.lines, fmt.Sprint(msg, " ", kv))
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// refuser is an exporter whose receiver takes nothing.
type refuser struct{}

func (refuser) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return errors.New(canary) }
func (refuser) Shutdown(context.Context) error                        { return nil }

func TestSpansThatCannotBeSentAreToldSeldomAndWithoutTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		p, err := traces.Open(t.Context(), traces.Config{Exporter: refuser{}, Sample: 1, Log: &log})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			start(t.Context(), p, scope.Run)
			p.Flush(t.Context())
		}
		time.Sleep(time.Minute)
		start(t.Context(), p, scope.Run)
		p.Flush(t.Context())
		p.Close()
		code := telemetry.ErrorCode(errors.New(canary))
		want := []string{"spans could not be sent [error " + code + " spans 1]", "spans could not be sent [error " + code + " spans 3]"}
		if diff := cmp.Diff(want, log.all()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A receiver that takes a request and never answers must not keep a worker from ending: the receiver lets go only after Close.
func TestCloseDoesNotWaitForAReceiverThatHangs(t *testing.T) {
	closed, asked := make(chan struct{}), make(chan struct{}, 64)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-closed
	}))
	defer receiver.Close()
	defer close(closed)
	p, err := traces.Open(t.Context(), traces.Config{Endpoint: receiver.URL + "/v1/traces", Sample: 1})
	if err != nil {
		t.Fatal(err)
	}
	start(t.Context(), p, scope.Run)
	go p.Flush(context.Background())
	<-asked
	p.Close()
}
