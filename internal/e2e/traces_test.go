package e2e

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"fourfold/internal/openaitest"
)

// receiver takes spans as OTLP over HTTP.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	raw      bytes.Buffer
	services []string
	spans    []*otlp.Span
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var got collector.ExportTraceServiceRequest
		if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(body, &got) != nil {
			t.Errorf("%s %s is no OTLP", req.Method, req.URL.Path)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.take(body, &got)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(body []byte, got *collector.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw.Write(body)
	for _, resource := range got.GetResourceSpans() {
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				r.services = append(r.services, a.GetValue().GetStringValue())
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
}

// A shell's trace goes on in steps and calls, and the log says where.
func TestATraceGoesThroughTheBuiltPrograms(t *testing.T) {
	t.Parallel()
	const canary = "CANARY"
	const traceID, spanID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	w, to := newWorld(t), newReceiver(t)
	w.model.On("<one>", openaitest.Text(canary))
	w.model.On("<two>", openaitest.Status(503), openaitest.Text(canary))
	p := w.start(w.config("traces: {otlp_endpoint: \"" + to.URL + "\"}\n"))
	flow := w.promptFlow("pair", "  - {id: one, prompt: one.tmpl, "+quick+"}\n  - {id: two, prompt: two.tmpl, needs: [one], "+quick+"}\n", "one", "two")
	env := []string{"FOURFOLD_REDIS=" + w.redis.URL(), "TRACEPARENT=00-" + traceID + "-" + spanID + "-01"}
	r := run(t, `"`+canary+`"`, env, "enqueue", "run", flow, "--input", "-", "--wait", "--json")
	if r.status != 0 || p.terminate() != 0 {
		t.Fatalf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	names := map[string]string{spanID: "shell"}
	for _, s := range to.spans {
		names[hex.EncodeToString(s.GetSpanId())] = s.GetName()
		if got := hex.EncodeToString(s.GetTraceId()); got != traceID {
			t.Errorf("%s is in trace %s", s.GetName(), got)
		}
	}
	slices.SortFunc(to.spans, func(a, b *otlp.Span) int { return int(a.GetStartTimeUnixNano()) - int(b.GetStartTimeUnixNano()) })
	var got []string
	for _, s := range to.spans {
		line := names[hex.EncodeToString(s.GetParentSpanId())] + " > " + s.GetName()
		for _, l := range s.GetLinks() {
			line += " ~ " + names[hex.EncodeToString(l.GetSpanId())]
		}
		if s.GetStatus().GetCode() == otlp.Status_STATUS_CODE_ERROR {
			line += " ! " + s.GetStatus().GetMessage()
		}
		got = append(got, line)
	}
	want := []string{
		"shell > step one", "step one > chat test-model", "shell > step two ~ step one",
		"step two > chat test-model ! provider_error", "step two > chat test-model",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.Contains(to.services, "fourfold-worker") || bytes.Contains(to.raw.Bytes(), []byte(canary)) {
		t.Errorf("services %v, or content in a span", to.services)
	}
	if diff := cmp.Diff(map[string]string{
		"step finished one": "step one", "step finished two": "step two", "provider call failed two": "chat test-model", "run finished ": "step two",
	}, lineSpans(t, p.log.String(), traceID, names)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// lineSpans says of each line that belongs to the trace to which span it does.
func lineSpans(t *testing.T, log, traceID string, names map[string]string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for text := range strings.Lines(log) {
		var line struct {
			Message, Step string
			Trace         string `json:"trace_id"`
			Span          string `json:"span_id"`
		}
		if json.Unmarshal([]byte(text), &line) == nil && line.Trace == traceID {
			out[line.Message+" "+line.Step] = names[line.Span]
		}
	}
	return out
}
