package telemetry_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/telemetry"
	"fourfold/telemetry/telemetrytest"
)

// everyLine tells everything to a Sink that sends to r, and returns the lines once the last has come.
func everyLine(t *testing.T, r *telemetrytest.Receiver) []telemetrytest.Line {
	t.Helper()
	log, err := telemetry.NewLogger(&buffer{}, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	s := newSink(t, r.Addr(), log)
	tellEverything(s)
	s.Lose(3, 2)
	s.Close()
	missing := func(lines []telemetrytest.Line) bool {
		return slices.ContainsFunc(telemetry.Catalogue(), func(m telemetry.Metric) bool {
			return !slices.ContainsFunc(lines, func(l telemetrytest.Line) bool { return l.Name == telemetry.Namespace+m.Name })
		})
	}
	// Whether the last lines of a metric with several series are there, the comparison that follows says.
	lines, err := r.Wait(patience(t), func(lines []telemetrytest.Line) bool { return !missing(lines) && len(lines) >= 50 })
	if _, refused := r.Lines(); err != nil || len(refused) > 0 {
		t.Fatalf("%v; received %d lines: %v\nrefused: %v", err, len(lines), lines, refused)
	}
	return lines
}

// patience is far longer than any machine needs; without it a missing line would only show as a test that never ends.
func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestEventsBecomeTheMetricsOfTheGoldenFile(t *testing.T) {
	lines := everyLine(t, receiver(t))
	texts := make([]string, len(lines))
	for i, l := range lines {
		if l.Name == "fourfold.worker.goroutines" {
			l.Values = []float64{1}
		}
		texts[i] = l.String()
	}
	slices.Sort(texts)
	golden(t, filepath.Join("testdata", "metrics.golden"), strings.Join(texts, "\n")+"\n")
}

func TestUnixSocketGetsTheSameAsUDP(t *testing.T) {
	socket, err := telemetrytest.ListenUnix(filepath.Join(t.TempDir(), "dsd.socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	byName := func(lines []telemetrytest.Line) map[string][]string {
		m := map[string][]string{}
		for _, l := range lines {
			if l.Name != "fourfold.worker.goroutines" {
				m[l.Name] = append(m[l.Name], l.String())
			}
		}
		for name := range m {
			slices.Sort(m[name])
		}
		return m
	}
	if diff := cmp.Diff(byName(everyLine(t, receiver(t))), byName(everyLine(t, socket))); diff != "" {
		t.Errorf("-UDP +Unix:\n%s", diff)
	}
}

func TestEveryLineIsInTheCatalogueAndEveryMetricIsSent(t *testing.T) {
	types := map[telemetry.Type]string{telemetry.Count: "c", telemetry.Gauge: "g", telemetry.Distribution: "d"}
	tags := map[string]telemetry.Tag{}
	for _, tag := range telemetry.Tags() {
		tags[tag.Key] = tag
	}
	catalogue := map[string]telemetry.Metric{}
	for _, m := range telemetry.Catalogue() {
		catalogue[telemetry.Namespace+m.Name] = m
	}
	sent := map[string]bool{}
	for _, l := range everyLine(t, receiver(t)) {
		m, ok := catalogue[l.Name]
		if !ok {
			t.Errorf("%s is not in the catalogue", l)
			continue
		}
		sent[l.Name] = true
		if l.Type != types[m.Type] {
			t.Errorf("%s has type %s, the catalogue says %s", l.Name, l.Type, m.Type)
		}
		var keys []string
		for _, text := range l.Tags {
			key, value, _ := strings.Cut(text, ":")
			keys = append(keys, key)
			if known := tags[key].Values; known != nil && !slices.Contains(known, value) {
				t.Errorf("%s: %s is no value of the tag", l, text)
			}
		}
		if diff := cmp.Diff(m.Tags, keys); diff != "" {
			t.Errorf("%s (-catalogue +sent):\n%s", l, diff)
		}
	}
	for name := range catalogue {
		if !sent[name] {
			t.Errorf("%s is in the catalogue and never sent", name)
		}
	}
}

func TestNamesOverTheirLimitAreTaggedOther(t *testing.T) {
	r := receiver(t)
	s := newSink(t, r.Addr(), nil)
	const invented = telemetry.LimitModels + 10
	for i := range invented {
		f := degraded()
		f.Tokens = []telemetry.ProviderTokens{{
			ModelProvider: openai, Model: executor.ModelVersionOf("m" + strings.Repeat("x", i)), Usage: executor.Tokens(1, 0),
		}}
		s.StepFinished(t.Context(), f)
	}
	s.Close()
	input := func(lines []telemetrytest.Line) float64 {
		return telemetrytest.Sum(lines, "fourfold.step.tokens", "token_type:input")
	}
	lines, err := r.Wait(patience(t), func(lines []telemetrytest.Line) bool { return input(lines) >= invented })
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]bool{}
	for _, l := range lines {
		if m := l.Tag("model"); m != "" {
			models[m] = true
		}
	}
	if got, want := len(models), telemetry.LimitModels+1; got != want {
		t.Errorf("%d different models in tags, want %d", got, want)
	}
	if got := telemetrytest.Sum(lines, "fourfold.step.tokens", "model:other", "token_type:input"); got != 10 {
		t.Errorf("other has %v tokens, want 10", got)
	}
}

func TestNothingIsLostOrCountedTwiceUnderConcurrency(t *testing.T) {
	var out buffer
	s := telemetry.NewToWriter(&out)
	s.ForgetOften(3) // meters die and are replaced all the time
	const workers, each, all = 8, 400, 8 * 400
	flows := []string{"a", "b", "c", "d", "e", "f", "g"}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range each {
				f := degraded()
				f.Flow = flows[i%len(flows)]
				s.StepFinished(context.Background(), f)
				s.RunFinished(context.Background(), telemetry.RunFinished{Flow: f.Flow, Outcome: executor.OutcomeOK})
				if i%50 == 0 {
					s.Flush()
				}
			}
		})
	}
	wg.Wait()
	s.Close()
	var lines []telemetrytest.Line
	for text := range strings.Lines(out.String()) {
		l, err := telemetrytest.ParseLine(strings.TrimSuffix(text, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	type totals struct{ Steps, Runs, Input, Output, Latencies, Waits int }
	want := totals{Steps: all, Runs: all, Input: 812 * all, Output: 64 * all, Latencies: all, Waits: all}
	got := totals{
		Steps:     int(telemetrytest.Sum(lines, "fourfold.step.finished")),
		Runs:      int(telemetrytest.Sum(lines, "fourfold.run.finished")),
		Input:     int(telemetrytest.Sum(lines, "fourfold.step.tokens", "token_type:input")),
		Output:    int(telemetrytest.Sum(lines, "fourfold.step.tokens", "token_type:output")),
		Latencies: telemetrytest.Samples(lines, "fourfold.step.latency"),
		Waits:     telemetrytest.Samples(lines, "fourfold.step.queue_wait"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFinishedStepAllocatesNothing(t *testing.T) {
	log, err := telemetry.NewLogger(discardWriter{}, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s := newSink(t, receiver(t).Addr(), log)
	f := degraded()
	// The average includes what gathers the samples, which grows at times, and the goroutines that write and send.
	if got := testing.AllocsPerRun(20_000, func() { s.StepFinished(context.Background(), f) }); got != 0 {
		t.Errorf("%v allocations per finished step, want none", got)
	}
}

type discardWriter struct{}

func (discardWriter) Write(p []byte) (int, error) { return len(p), nil }
