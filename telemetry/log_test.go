package telemetry_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
)

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)

func TestEventsBecomeTheLinesOfTheGoldenFile(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			var out buffer
			log, err := telemetry.NewLogger(&out, "debug", format)
			if err != nil {
				t.Fatal(err)
			}
			tellEverything(newSink(t, "", log))
			log.Close()
			golden(t, filepath.Join("testdata", "log."+format+".golden"), timestamp.ReplaceAllString(out.String(), "TIME"))
		})
	}
}

// The line of a step is spelt by hand: whatever the step, it is one JSON object that holds the envelope, whole.
func TestLineOfAStepHoldsItsEnvelope(t *testing.T) {
	classes := append([]executor.FailureClass{executor.ClassNone}, executor.FailureClasses()...)
	for _, outcome := range executor.Outcomes() {
		for _, class := range classes {
			for _, usage := range []executor.Usage{{}, executor.Tokens(0, 0), executor.Tokens(1<<40, 7)} {
				want := executor.Envelope{
					Step: classify, Outcome: outcome, FailureClass: class, Attempts: 4, Latency: 61 * time.Second, Model: gpt,
					Prompt: executor.PromptSHA{1, 2, 3}, Usage: usage,
				}
				if outcome == executor.OutcomeAbstained {
					want.Model, want.Prompt, want.Attempts, want.Latency = executor.ModelVersion{}, executor.PromptSHA{}, 0, 0
				}
				line := logged(t, "info", func(log *telemetry.Logger) {
					newSink(t, "", log).StepFinished(t.Context(), telemetry.StepFinished{Run: aRun, Flow: "f", Queue: "q", Envelope: want, Worst: outcome})
				})
				var got executor.Envelope
				if err := json.Unmarshal([]byte(line), &got); err != nil {
					t.Fatalf("%v in %s", err, line)
				}
				if diff := cmp.Diff(want.String(), got.String()); diff != "" || got != want {
					t.Errorf("-want +got:\n%s", diff)
				}
				if run := fields(t, line)["run"]; run != aRun {
					t.Errorf("run is %v", run)
				}
			}
		}
	}
}

func TestStepsThatDidNotGoWellAreWarnings(t *testing.T) {
	for outcome, want := range map[executor.Outcome]string{
		executor.OutcomeOK: "info", executor.OutcomeAbstained: "info", executor.OutcomeDegraded: "warn", executor.OutcomeFailed: "warn",
	} {
		f := degraded()
		f.Envelope.Outcome = outcome
		line := logged(t, "info", func(log *telemetry.Logger) { newSink(t, "", log).StepFinished(t.Context(), f) })
		if got := fields(t, line)["level"]; got != want {
			t.Errorf("%s is logged at %v, want %s", outcome, got, want)
		}
		if line := logged(t, "warn", func(log *telemetry.Logger) { newSink(t, "", log).StepFinished(t.Context(), f) }); (line != "") != (want == "warn") {
			t.Errorf("%s at level warn: %q", outcome, line)
		}
	}
}

func TestAnsweredCallsAreNotLogged(t *testing.T) {
	line := logged(t, "debug", func(log *telemetry.Logger) {
		newSink(t, "", log).CallFinished(t.Context(), provider.Call{Provider: primary, Model: gpt, Status: 200})
	})
	if line != "" {
		t.Errorf("logged %q", line)
	}
}

func TestAFailedCallOfAnUnknownModelLeavesOutWhatIsUnknown(t *testing.T) {
	line := logged(t, "info", func(log *telemetry.Logger) {
		newSink(t, "", log).CallFinished(t.Context(), provider.Call{Provider: primary, Kind: provider.KindNetwork})
	})
	for _, key := range []string{"model_provider", "model_version"} {
		if strings.Contains(line, key) {
			t.Errorf("%s in %s", key, line)
		}
	}
	if !strings.Contains(line, `"provider":"primary","error_kind":"network"`) {
		t.Errorf("%s", line)
	}
}

func TestLoggerRefusesLevelsAndFormatsItDoesNotKnow(t *testing.T) {
	for _, c := range [][2]string{{"loud", "json"}, {"fatal", "json"}, {"trace", ""}, {"info", "xml"}} {
		if _, err := telemetry.NewLogger(&buffer{}, c[0], c[1]); err == nil {
			t.Errorf("level %q and format %q were taken", c[0], c[1])
		}
	}
}

func TestLoggerWritesItsLevelAndAbove(t *testing.T) {
	for level, want := range map[string]int{"debug": 4, "info": 3, "": 3, "warn": 2, "error": 1} {
		out := logged(t, level, func(log *telemetry.Logger) {
			log.Debug("debug")
			log.Info("info")
			log.Warn("warn")
			log.Error("error")
		})
		if got := strings.Count(out, "\n"); got != want {
			t.Errorf("level %q: %d lines, want %d", level, got, want)
		}
	}
}

// A line of a stuck output must stop nobody, and what was dropped must be told once the output moves again.
func TestStuckOutputStopsNobodyAndDropsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &valve{open: make(chan struct{})}
		log, err := telemetry.NewLogger(out, "info", "json")
		if err != nil {
			t.Fatal(err)
		}
		log.Info("first")
		time.Sleep(time.Second) // the writing goroutine is stuck in the first line
		synctest.Wait()
		const lines = telemetry.LinesKept/50 + 10
		for range lines {
			log.Info("a line that waits in vain")
		}
		close(out.open)
		log.Close()
		written, told := 0, 0.0
		for line := range strings.Lines(out.String()) {
			if f := fields(t, line); f["message"] == "log lines dropped: the output did not take them" {
				n, _ := f["lines"].(float64)
				told += n
			} else {
				written++
			}
		}
		if told == 0 || written+int(told) != lines+1 {
			t.Errorf("%d lines written and %v told as dropped, want %d together", written, told, lines+1)
		}
	})
}

func TestCloseDoesNotWaitForAStuckOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &valve{open: make(chan struct{})}
		log, err := telemetry.NewLogger(out, "info", "json")
		if err != nil {
			t.Fatal(err)
		}
		log.Info("never written")
		begin := time.Now()
		log.Close()
		if took := time.Since(begin); took != telemetry.CloseWithin {
			t.Errorf("Close took %v, want %v", took, telemetry.CloseWithin)
		}
		log.Info("after the end")
		log.Close()
		close(out.open)
	})
}

// valve is an output that takes nothing until it is opened.
type valve struct {
	buffer
	open chan struct{}
}

func (v *valve) Write(p []byte) (int, error) {
	<-v.open
	return v.buffer.Write(p)
}
