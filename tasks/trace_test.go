package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks"
	"fourfold/telemetry"
	"fourfold/telemetry/traces"
)

// traced is a fleet whose spans are kept.
type traced struct {
	*fleet
	provider *traces.Provider
	kept     *tracetest.InMemoryExporter
}

func newTraced(t *testing.T) *traced {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	p, err := traces.Open(t.Context(), traces.Config{Exporter: kept, Sample: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &traced{realFleet(t), p, kept}
}

// worker starts a worker with spans; its calls go through a guard, as in a real one.
func (f *traced) worker(m *model, change func(*tasks.WorkerConfig)) (stop func()) {
	f.t.Helper()
	guarded := provider.Guard(m, provider.GuardConfig{
		ModelProvider: provider.ModelProviderSimulated, Model: executor.ModelVersionOf("stub"), Observer: f.provider.Observe(telemetry.Discard),
	})
	_, stop = f.fleet.worker(m, func(c *tasks.WorkerConfig) {
		c.Tracer = f.provider.Tracer()
		c.Chains = map[string]*provider.Chain{"default": provider.NewChain(guarded)}
		if change != nil {
			change(c)
		}
	})
	return stop
}

// within submits under a span named submit.
func (f *traced) within(s tasks.Submission) tasks.RunID {
	f.t.Helper()
	ctx, span := f.provider.Tracer().Start(context.Background(), "submit")
	defer span.End()
	run, err := f.client.Submit(ctx, s)
	if err != nil {
		f.t.Fatal(err)
	}
	return run
}

// spans are those that have ended, the oldest first; the workers must have stopped.
func (f *traced) spans() tracetest.SpanStubs {
	f.provider.Flush(context.Background())
	spans := f.kept.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return spans
}

// shape tells one line of each span: its parent's name, its own, what it links to, and whether it is an error.
func shape(spans tracetest.SpanStubs) string {
	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name
	}
	var b strings.Builder
	for _, s := range spans {
		parent := "-"
		if s.Parent.IsValid() {
			parent = names[s.Parent.SpanID()]
		}
		fmt.Fprintf(&b, "%s > %s", parent, s.Name)
		for _, l := range s.Links {
			fmt.Fprintf(&b, " ~ %s", names[l.SpanContext.SpanID()])
		}
		if s.Status.Code == codes.Error {
			fmt.Fprintf(&b, " ! %s", s.Status.Description)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func attribute(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

func oneTrace(t *testing.T, spans tracetest.SpanStubs) {
	t.Helper()
	for _, s := range spans {
		if s.SpanContext.TraceID() != spans[0].SpanContext.TraceID() {
			t.Errorf("%s is in a trace of its own", s.Name)
		}
	}
}

// The steps of a run are children of whoever submitted it, each links to the step that made it runnable, and calls are
// children of their step.
func TestATraceLeadsFromTheProducerOverStepsAndCallsToFollowOns(t *testing.T) {
	t.Parallel()
	f := newTraced(t)
	stop := f.worker(newModel(fine), nil)
	run := f.within(tasks.Submission{Bundle: bundle(t, threeSteps("")), Input: number(1)})
	f.wait(run)
	stop()
	spans := f.spans()
	want := `- > submit
submit > step one
step one > chat stub
submit > step two ~ step one
step two > chat stub
submit > step three ~ step two
step three > chat stub
`
	if diff := cmp.Diff(want, shape(spans)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	oneTrace(t, spans)
	for key, want := range map[string]string{
		"fourfold.run": run.String(), "fourfold.flow": "three", "fourfold.step": "two", "fourfold.queue": "default", "fourfold.generation": "1",
		"fourfold.delivery": "1", "fourfold.ending": "settled", "fourfold.outcome": "OK", "fourfold.worst_outcome": "OK", "fourfold.attempts": "1",
		"fourfold.model_version": "stub-1", "fourfold.provider": "stub", "fourfold.token_usage.input": "10", "fourfold.token_usage.output": "5",
		"fourfold.failure_class": "", "fourfold.cause": "", "fourfold.error_kind": "", "fourfold.reason": "", "fourfold.item": "",
	} {
		if got := attribute(spans[3], key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if spans[3].SpanKind != trace.SpanKindConsumer || spans[4].SpanKind != trace.SpanKindClient {
		t.Errorf("kinds %v and %v", spans[3].SpanKind, spans[4].SpanKind)
	}
}

// A run without a trace of its producer's has one all the same, and its state is none the larger.
func TestStepsOfARunWithoutATraceMeetInOne(t *testing.T) {
	t.Parallel()
	f := newTraced(t)
	stop := f.worker(newModel(fine), nil)
	run := f.submit(bundle(t, threeSteps("")), `1`)
	f.wait(run)
	other := f.submit(bundle(t, threeSteps("")), `1`)
	f.wait(other)
	stop()
	traceOf := map[string]trace.TraceID{}
	for _, s := range f.spans() {
		if !strings.HasPrefix(s.Name, "step ") {
			continue
		}
		of := attribute(s, "fourfold.run")
		if first, ok := traceOf[of]; ok && first != s.SpanContext.TraceID() {
			t.Errorf("%s of %s is in a trace of its own", s.Name, of)
		}
		traceOf[of] = s.SpanContext.TraceID()
		if s.Parent.IsValid() {
			t.Errorf("%s has a parent", s.Name)
		}
	}
	if len(traceOf) != 2 || traceOf[run.String()] == traceOf[other.String()] {
		t.Errorf("traces %v", traceOf)
	}
	for _, r := range []tasks.RunID{run, other} {
		key := "fourfold:{default}:run:" + r.String()
		fields, err := f.rdb.HKeys(t.Context(), key).Result()
		if err != nil || len(fields) == 0 || slices.Contains(fields, "t") {
			t.Errorf("the state of %s holds %v, %v", r, fields, err)
		}
	}
}

// Who rings for a rerun or in the sweeper's place knows of no trace; the state does.
func TestARerunStaysInTheTraceOfItsProducer(t *testing.T) {
	t.Parallel()
	f := newTraced(t)
	m := newModel(func(_ context.Context, step string, n int) (string, error) {
		if step == "two" && n <= 2 {
			return "", sickness()
		}
		return "7", nil
	})
	stop := f.worker(m, nil)
	run := f.within(tasks.Submission{Bundle: bundle(t, threeSteps("")), Input: number(1)})
	f.wait(run)
	if err := f.client.Rerun(context.Background(), run); err != nil {
		t.Fatal(err)
	}
	if s := f.wait(run); s.Outcome != executor.OutcomeOK {
		t.Fatal(s.Outcome)
	}
	stop()
	spans := f.spans()
	want := `- > submit
submit > step one
step one > chat stub
submit > step two ~ step one ! upstream-5xx
step two > chat stub ! provider_error
step two > chat stub ! provider_error
submit > step two
step two > chat stub
submit > step three ~ step two
step three > chat stub
`
	if diff := cmp.Diff(want, shape(spans)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	oneTrace(t, spans)
	failed, rerun := spans[3], spans[6]
	if attribute(failed, "fourfold.failure_class") != "upstream-5xx" || attribute(failed, "fourfold.error_kind") != "provider_error" || attribute(rerun, "fourfold.generation") != "2" {
		t.Errorf("attributes %v, %v", failed.Attributes, rerun.Attributes)
	}
}

// Only FAILED is an error; items and parked deliveries have spans of their own.
func TestSpansSayHowEachDeliveryEnded(t *testing.T) {
	t.Parallel()
	f := newTraced(t)
	m := newModel(func(_ context.Context, step string, n int) (string, error) {
		switch {
		case step == "parks" && n == 1:
			return "", &executor.Parked{NotBefore: time.Now().Add(time.Millisecond)}
		case step == "degrades":
			return "", sickness()
		}
		return "7", nil
	})
	stop := f.worker(m, nil)
	yaml := "flow: endings\nsteps:\n" + step("parks", "") + step("degrades", "    degrade_to: '0'\n") + step("abstains", "    abstain: {on: 'true', to: '1'}\n") +
		"  - id: each\n    for_each: 'input'\n    prompt: item.tmpl\n    chain: default\n    budget: {attempts: 1, " + budget + "}\n"
	run, err := f.client.Submit(context.Background(), tasks.Submission{Bundle: bundle(t, yaml), Input: content.New(json.RawMessage(`[1,2]`))})
	if err != nil {
		t.Fatal(err)
	}
	f.wait(run)
	stop()
	got := map[string]int{}
	for _, s := range f.spans() {
		if s.Status.Code == codes.Error && strings.HasPrefix(s.Name, "step ") {
			t.Errorf("%s is an error", s.Name)
		}
		if strings.HasPrefix(s.Name, "step ") {
			got[strings.Join([]string{s.Name, attribute(s, "fourfold.item"), attribute(s, "fourfold.ending"), attribute(s, "fourfold.outcome")}, "|")]++
		}
	}
	want := map[string]int{
		"step parks||parked|": 1, "step parks||settled|OK": 1, "step degrades||settled|DEGRADED": 1, "step abstains||settled|ABSTAINED": 1,
		"step each||expanded|": 1, "step each|0|settled|OK": 1, "step each|1|settled|OK": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A producer who did not want to be recorded is obeyed: nothing is sent, and its context still arrives.
func TestAnUnsampledProducerIsObeyed(t *testing.T) {
	t.Parallel()
	f := newTraced(t)
	seen := make(chan trace.SpanContext, 8)
	m := newModel(func(ctx context.Context, _ string, _ int) (string, error) {
		seen <- trace.SpanContextFromContext(ctx)
		return "7", nil
	})
	stop := f.worker(m, nil)
	producer := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	run, err := f.client.Submit(trace.ContextWithSpanContext(context.Background(), producer), tasks.Submission{Bundle: bundle(t, threeSteps("")), Input: number(1)})
	if err != nil {
		t.Fatal(err)
	}
	f.wait(run)
	stop()
	if spans := f.spans(); len(spans) != 0 {
		t.Errorf("recorded:\n%s", shape(spans))
	}
	for range 3 {
		if sc := <-seen; sc.TraceID() != producer.TraceID() || sc.IsSampled() {
			t.Errorf("a call ran in %v", sc)
		}
	}
}

// The task that tells a producer's queue continues the trace, also where workers make no spans.
func TestTheDoneTaskCarriesTheTrace(t *testing.T) {
	t.Parallel()
	f := newTraced(t)
	f.fleet.worker(newModel(fine), nil)
	run := f.within(tasks.Submission{Bundle: bundle(t, threeSteps("")), Input: number(1), OnDone: "results"})
	f.wait(run)
	told := make(chan map[string]string, 4)
	mux := asynq.NewServeMux()
	mux.HandleFunc(tasks.DoneTask, func(_ context.Context, task *asynq.Task) error {
		told <- task.Headers()
		return nil
	})
	server := asynq.NewServerFromRedisClient(f.rdb, asynq.Config{Queues: map[string]int{"results": 1}, LogLevel: asynq.FatalLevel, TaskCheckInterval: 50 * time.Millisecond})
	if err := server.Start(mux); err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	submit := f.spans()[0].SpanContext
	want := fmt.Sprintf("00-%s-%s-01", submit.TraceID(), submit.SpanID())
	select {
	case headers := <-told:
		if headers["traceparent"] != want {
			t.Errorf("headers %v, want %s", headers, want)
		}
	case <-time.After(patience):
		t.Fatal("nobody was told")
	}
}

// Whatever a customer, a provider or a handler says is in no span.
func TestSpansHoldNoContent(t *testing.T) {
	t.Parallel()
	const canary = "CANARY"
	f := newTraced(t)
	m := newModel(func(_ context.Context, step string, _ int) (string, error) {
		switch step {
		case "answers":
			return `"` + canary + `"`, nil
		case "fails":
			return "", fmt.Errorf("%s", canary)
		case "parses":
			return canary + " {", nil
		}
		panic(canary)
	})
	stop := f.worker(m, nil)
	one := func(id, more string) string {
		return "  - id: " + id + "\n    prompt: p.tmpl\n    chain: default\n    budget: {attempts: 1, " + budget + "}\n" + more
	}
	yaml := "flow: secret\nsteps:\n" + one("answers", "") + one("fails", "") + one("panics", "    degrade_to: '\""+canary+"\"'\n") + one("parses", "    output: number.json\n")
	run := f.within(tasks.Submission{Bundle: bundle(t, yaml), Input: content.New(json.RawMessage(`"` + canary + `"`)), Key: canary})
	f.wait(run)
	stop()
	spans := f.spans()
	text, err := json.Marshal(spans)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text)+fmt.Sprintf("%+v", spans), canary) {
		t.Errorf("content in a span:\n%s", text)
	}
	if len(spans) < 9 {
		t.Errorf("too few spans to prove anything:\n%s", shape(spans))
	}
}

// panicking is a tracer that panics at the given point.
type panicking struct {
	noop.Tracer
	atStart bool
}

func (p panicking) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	if p.atStart {
		panic("canary")
	}
	return ctx, panickingSpan{}
}

type panickingSpan struct{ noop.Span }

func (panickingSpan) End(...trace.SpanEndOption) { panic("canary") }

// A step that its worker's tracer makes crash is let go of, so that others try, and its run ends.
func TestAPanickingTracerHoldsNoStep(t *testing.T) {
	t.Parallel()
	yaml := "flow: traced\nsteps:\n" + step("one", "")
	for name, c := range map[string]struct {
		tracer panicking
		lease  time.Duration
		want   executor.Outcome
		calls  int
	}{
		"at a span's start": {panicking{atStart: true}, time.Second, executor.OutcomeFailed, 0}, // given up when it has ended
		"at its end":        {panicking{}, time.Hour, executor.OutcomeOK, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, m := realFleet(t), newModel(fine)
			f.worker(m, func(cfg *tasks.WorkerConfig) {
				cfg.Tracer, cfg.Lease, cfg.MaxDeliveries = c.tracer, c.lease, 1
			})
			if s := f.wait(f.submit(bundle(t, yaml), `1`)); s.Outcome != c.want || m.total() != c.calls {
				t.Errorf("outcome %v, %d calls; want %v, %d", s.Outcome, m.total(), c.want, c.calls)
			}
			f.quiet()
		})
	}
}
