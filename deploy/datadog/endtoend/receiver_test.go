package endtoend

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
)

// exporter is a running statsd_exporter.
type exporter struct{ web, udp, socket string }

// startExporter builds statsd_exporter, as go.mod pins it, and starts it on free loopback ports and a socket.
func startExporter(t *testing.T) exporter {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "statsd_exporter")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/prometheus/statsd_exporter").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	// Ports are asked for and given back: another process may take one in between, so that some tries may be needed.
	for range 5 {
		e := exporter{freePort(t, "tcp"), freePort(t, "udp"), filepath.Join(dir, "dsd.socket")}
		if e.start(t, binary) {
			return e
		}
	}
	t.Fatal("statsd_exporter does not start")
	return exporter{}
}

func (e exporter) start(t *testing.T, binary string) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "--web.listen-address="+e.web, "--statsd.listen-udp="+e.udp,
		"--statsd.listen-tcp=", "--statsd.listen-unixgram="+e.socket, "--log.level=warn")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for {
		if _, err := scrape(t.Context(), e.web); err == nil {
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freePort(t *testing.T, network string) string {
	t.Helper()
	if network == "udp" {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.LocalAddr().String()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var sample = regexp.MustCompile(`^([a-z_]+)(?:\{([^}]*)\})? (\S+)$`)

// scrape reads the exporter's metrics: name{labels} → value.
func scrape(ctx context.Context, addr string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	samples := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		m := sample.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || strings.Contains(m[2], "quantile=") {
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, fmt.Errorf("value in %q: %w", line, err)
		}
		samples[m[1]+"{"+m[2]+"}"] = v
	}
	return samples, nil
}

// sum adds up the samples of a metric that have all the labels.
func sum(samples map[string]float64, name string, labels ...string) float64 {
	total := 0.0
	for key, v := range samples {
		if !strings.HasPrefix(key, name+"{") {
			continue
		}
		has := 0
		for _, l := range labels {
			name, value, _ := strings.Cut(l, ":")
			if strings.Contains(key, name+`="`+value+`"`) {
				has++
			}
		}
		if has == len(labels) {
			total += v
		}
	}
	return total
}

// totals are what the receiver must have understood.
type totals struct {
	OK, Degraded, Failed, Runs, Input, Output, Calls, Limited, Fallbacks, Drained float64
	Latencies, LatencySum, Attempts, Pending, Oldest                              float64
}

func understood(s map[string]float64) totals {
	return totals{
		OK:         sum(s, "fourfold_step_finished", "outcome:OK", "failure_class:none", "worst_outcome:DEGRADED", "queue:default", "flow:intake"),
		Degraded:   sum(s, "fourfold_step_finished", "outcome:DEGRADED", "failure_class:timeout"),
		Failed:     sum(s, "fourfold_step_finished", "outcome:FAILED", "failure_class:upstream-5xx", "worst_outcome:FAILED"),
		Runs:       sum(s, "fourfold_run_finished", "outcome:DEGRADED", "cause:timeout"),
		Input:      sum(s, "fourfold_step_tokens", "token_type:input", "model:gpt-4o", "model_provider:openai"),
		Output:     sum(s, "fourfold_step_tokens", "token_type:output"),
		Calls:      sum(s, "fourfold_provider_calls"),
		Limited:    sum(s, "fourfold_provider_calls", "error_kind:rate_limit", "status_class:4xx"),
		Fallbacks:  sum(s, "fourfold_provider_fallbacks", "from:primary", "to:backup"),
		Drained:    sum(s, "fourfold_drain_steps", "result:finished"),
		Latencies:  sum(s, "fourfold_step_latency_count"),
		LatencySum: sum(s, "fourfold_step_latency_sum"),
		Attempts:   sum(s, "fourfold_step_attempts_sum"),
		Pending:    sum(s, "fourfold_queue_pending", "queue:default"),
		Oldest:     sum(s, "fourfold_queue_oldest_pending"),
	}
}

const (
	workers = 4
	each    = 100
	all     = workers * each
)

// work tells s what a fleet of several goroutines does.
func work(s *telemetry.Sink) {
	openai, _ := provider.ParseModelProvider("openai")
	model := executor.ModelVersionOf("gpt-4o")
	step := func(o, worst executor.Outcome, class executor.FailureClass) telemetry.StepFinished {
		usage := executor.Tokens(100, 7)
		return telemetry.StepFinished{
			Run: "default.4k2abcdefghijklmnopqrstuvw", Flow: "intake", Queue: "default", Worst: worst,
			Envelope: executor.Envelope{
				Step: executor.MustStepID("classify"), Outcome: o, FailureClass: class, Attempts: 2, Latency: 250 * time.Millisecond, Usage: usage,
			},
			Tokens: []telemetry.ProviderTokens{{ModelProvider: openai, Model: model, Usage: usage}},
		}
	}
	ctx := context.Background()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				s.StepFinished(ctx, step(executor.OutcomeOK, executor.OutcomeDegraded, executor.ClassNone))
				s.StepFinished(ctx, step(executor.OutcomeDegraded, executor.OutcomeDegraded, executor.ClassTimeout))
				s.StepFinished(ctx, step(executor.OutcomeFailed, executor.OutcomeFailed, executor.ClassUpstream5xx))
				s.RunFinished(ctx, telemetry.RunFinished{Flow: "intake", Outcome: executor.OutcomeDegraded, Cause: "timeout", Latency: time.Second})
				s.CallFinished(ctx, provider.Call{ModelProvider: openai, Model: model, Status: 200, Duration: time.Second, FirstToken: time.Millisecond})
				s.CallFinished(ctx, provider.Call{ModelProvider: openai, Model: model, Kind: provider.KindRateLimit, Status: 429})
				s.FellBack(ctx, provider.MustName("primary"), provider.MustName("backup"), provider.KindRateLimit)
			}
		})
	}
	wg.Wait()
	s.StepDuplicate(ctx, "intake", executor.MustStepID("classify"))
	s.StepParked(ctx, "intake", executor.MustStepID("classify"), time.Second)
	s.QueueSizes(telemetry.QueueSizes{Queue: "default", Pending: 42, OldestPending: 1500 * time.Millisecond})
	s.Fleet(telemetry.Fleet{Busy: 1, Slots: 2, Strays: 3, Parked: 4})
	s.Swept("default", "redriven", 2)
	s.Drained(3, 0, 0)
}

func TestIndependentReceiverUnderstandsEveryLineAndEveryNumber(t *testing.T) {
	e := startExporter(t)
	for i, addr := range []string{e.udp, "unix://" + e.socket} {
		s, err := telemetry.New(telemetry.Config{Statsd: addr})
		if err != nil {
			t.Fatal(err)
		}
		work(s)
		s.Close()
		n := float64(i+1) * all // both transports reach the same receiver
		want := totals{
			OK: n, Degraded: n, Failed: n, Runs: n, Input: 300 * n, Output: 21 * n, Calls: 2 * n, Limited: n, Fallbacks: n, Drained: 3 * float64(i+1),
			Latencies: 3 * n, LatencySum: 0.75 * n, Attempts: 6 * n, Pending: 42, Oldest: 1.5,
		}
		var got totals
		var samples map[string]float64
		for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
			if samples, err = scrape(t.Context(), e.web); err != nil {
				t.Fatal(err)
			}
			if got = understood(samples); got == want {
				break
			}
			<-time.After(20 * time.Millisecond)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-told +understood):\n%s", addr, diff)
		}
		for _, refusals := range []string{"statsd_exporter_sample_errors_total", "statsd_exporter_tag_errors_total", "statsd_exporter_events_conflict_total", "statsd_exporter_events_error_total"} {
			if n := sum(samples, refusals); n != 0 {
				t.Errorf("%s is %v", refusals, n)
			}
		}
		if sum(samples, "statsd_exporter_samples_total") == 0 {
			t.Error("the exporter counts no samples: its own metrics were renamed, and the checks above mean nothing")
		}
	}
}
