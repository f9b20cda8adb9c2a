package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
	"fourfold/telemetry/telemetrytest"
)

var update = flag.Bool("update", false, "write the golden files and deploy/datadog/METRICS.md")

// TestMain takes away what would add tags of this machine to every metric.
func TestMain(m *testing.M) {
	for _, name := range []string{"DD_ENV", "DD_SERVICE", "DD_VERSION", "DD_ENTITY_ID", "DD_EXTERNAL_ENV", "DD_CARDINALITY", "DATADOG_CARDINALITY"} {
		_ = os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

const aRun = "default.4k2abcdefghijklmnopqrstuvw"

var (
	openai    = must(provider.ParseModelProvider("openai"))
	anthropic = must(provider.ParseModelProvider("anthropic"))
	primary   = provider.MustName("primary")
	backup    = provider.MustName("backup")
	gpt       = executor.ModelVersionOf("gpt-4o-2024-08-06")
	claude    = executor.ModelVersionOf("claude-sonnet-4")
	classify  = executor.MustStepID("classify-tables")
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// degraded is an ordinary step that ended DEGRADED after its attempts.
func degraded() telemetry.StepFinished {
	usage := executor.Tokens(812, 64)
	return telemetry.StepFinished{
		Run: aRun, Flow: "document-intake", Queue: "default",
		Envelope: executor.Envelope{
			Step: classify, Outcome: executor.OutcomeDegraded, FailureClass: executor.ClassTimeout, Attempts: 3,
			Latency: 60012 * time.Millisecond, Model: gpt, Prompt: executor.PromptSHA{0x9f, 0x1c}, Usage: usage,
		},
		Worst: executor.OutcomeDegraded, Provider: primary, ModelProvider: openai,
		ErrorKind: provider.KindNetwork, Reason: provider.ReasonTimeout, QueueWait: 12 * time.Millisecond,
		Tokens: []telemetry.ProviderTokens{
			{ModelProvider: openai, Model: gpt, Usage: usage},
			{ModelProvider: anthropic, Model: claude}, // unknown
		},
	}
}

// tellEverything tells o at least one event of each sort.
func tellEverything(o telemetry.Observer) {
	ctx := context.Background()
	o.StepFinished(ctx, degraded())
	o.StepFinished(ctx, telemetry.StepFinished{
		Run: aRun, Flow: "document-intake", Queue: "default", Worst: executor.OutcomeOK, QueueWait: 3 * time.Millisecond,
		Envelope: executor.Envelope{Step: executor.MustStepID("assemble"), Outcome: executor.OutcomeOK, Attempts: 1, Latency: 4 * time.Millisecond},
	})
	o.StepFinished(ctx, telemetry.StepFinished{
		Run: aRun, Flow: "document-intake", Queue: "default", Worst: executor.OutcomeAbstained,
		Envelope: executor.Envelope{Step: executor.MustStepID("map-blocks"), Outcome: executor.OutcomeAbstained},
	})
	o.StepFinished(ctx, telemetry.StepFinished{
		Run: aRun, Flow: "document-intake", Queue: "default", Worst: executor.OutcomeFailed, Cause: "dependency", Skipped: true,
		Envelope: executor.Envelope{Step: executor.MustStepID("summarise"), Outcome: executor.OutcomeFailed},
	})
	o.StepDuplicate(ctx, "document-intake", classify)
	o.StepParked(ctx, "document-intake", classify, 90*time.Second)
	o.RunFinished(ctx, telemetry.RunFinished{
		Run: aRun, Flow: "document-intake", Queue: "default", Outcome: executor.OutcomeDegraded, Cause: "timeout", Step: classify,
		Latency: 61500 * time.Millisecond,
	})
	o.RunFinished(ctx, telemetry.RunFinished{Run: aRun, Flow: "document-intake", Queue: "default", Outcome: executor.OutcomeOK, Latency: 500 * time.Millisecond})
	o.CallFinished(ctx, provider.Call{
		Provider: primary, ModelProvider: openai, Model: gpt, Status: 200, Duration: 1500 * time.Millisecond,
		FirstToken: 250 * time.Millisecond, Usage: executor.Tokens(812, 64),
	})
	o.CallFinished(ctx, provider.Call{
		Provider: primary, ModelProvider: openai, Model: gpt, Kind: provider.KindRateLimit, Reason: provider.ReasonQuota, Status: 429,
		Duration: 80 * time.Millisecond, Scope: provider.Scope{Run: aRun, Flow: "document-intake", Step: classify, Attempt: 2},
	})
	o.CallFinished(ctx, provider.Call{
		Provider: backup, ModelProvider: anthropic, Model: claude, Kind: provider.KindNetwork, Reason: provider.ReasonAborted,
		Duration: time.Second, FirstToken: 300 * time.Millisecond, Usage: executor.Tokens(5, 1),
		Scope: provider.Scope{Run: aRun, Flow: "document-intake", Step: classify, Attempt: 3},
	})
	o.FellBack(ctx, primary, backup, provider.KindRateLimit)
	o.BreakerChanged(primary, gpt, true)
	o.BreakerChanged(backup, claude, true)
	o.BreakerChanged(backup, claude, false)
	o.QueueSizes(telemetry.QueueSizes{
		Queue: "default", Pending: 7, Active: 6, Scheduled: 5, Retry: 4, Archived: 3, Outbox: 2, OldestPending: 1500 * time.Millisecond,
	})
	o.Fleet(telemetry.Fleet{Busy: 60, Slots: 100, Strays: 2, Parked: 4, StraysByStep: []telemetry.StepStrays{{Flow: "document-intake", Step: classify, Strays: 2}}})
	o.Swept("default", "redriven", 3)
	o.Drained(5, 4, 1)
}

func receiver(t *testing.T) *telemetrytest.Receiver {
	t.Helper()
	r, err := telemetrytest.ListenUDP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func newSink(t *testing.T, addr string, log *telemetry.Logger) *telemetry.Sink {
	t.Helper()
	s, err := telemetry.New(telemetry.Config{Statsd: addr, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// buffer is an output that many goroutines may look at.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// logged returns what tell logged, as JSON lines.
func logged(t *testing.T, level string, tell func(*telemetry.Logger)) string {
	t.Helper()
	var out buffer
	log, err := telemetry.NewLogger(&out, level, "json")
	if err != nil {
		t.Fatal(err)
	}
	tell(log)
	log.Close()
	return out.String()
}

// fields reads one JSON line.
func fields(t *testing.T, line string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("no JSON object: %v: %q", err, line)
	}
	return m
}

// golden compares got with the file, or writes the file when -update is given.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./telemetry -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is stale; go test ./telemetry -update writes it (-want +got):\n%s", path, diff)
	}
}
