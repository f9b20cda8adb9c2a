package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"fourfold/cmd/internal/cli"
	"fourfold/content"
	"fourfold/executor"
	"fourfold/provider"
	"fourfold/tasks"
)

var update = flag.Bool("update", false, "write golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// streams are ends that a test can read.
func streams() (s cli.Streams, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return cli.Streams{In: strings.NewReader(""), Out: out, Err: err}, out, err
}

const sha = "9f1c2ab4e01d9f1c2ab4e01d9f1c2ab4e01d9f1c2ab4e01d9f1c2ab4e01d9f1c"

func runID(t *testing.T, s string) tasks.RunID {
	t.Helper()
	id, err := tasks.ParseRunID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// degradedRun is a finished run with a step of every outcome.
func degradedRun(t *testing.T) tasks.Status {
	t.Helper()
	prompt, err := executor.ParsePromptSHA(sha)
	if err != nil {
		t.Fatal(err)
	}
	classify, tables := executor.MustStepID("classify"), executor.MustStepID("tables")
	degraded := tasks.Marker{Outcome: executor.OutcomeDegraded, Step: classify, Cause: tasks.CauseTimeout}
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return tasks.Status{
		Run: runID(t, "default.4k2m8000000000000000000000"), Flow: "document-intake", BundleSHA: prompt, State: tasks.StateDone,
		Outcome: executor.OutcomeDegraded, Marker: degraded, Counts: tasks.Counts{OK: 1, Degraded: 1, Abstained: 1, Failed: 1, Skipped: 1},
		Created: begin, Finished: begin.Add(64 * time.Second),
		Steps: []tasks.StepStatus{
			{
				Envelope: executor.Envelope{
					Step: classify, Outcome: executor.OutcomeDegraded, FailureClass: executor.ClassTimeout, Attempts: 3,
					Latency: 60012 * time.Millisecond, Model: executor.ModelVersionOf("gpt-x-2026"), Prompt: prompt, Usage: executor.Tokens(812, 0),
				},
				State: tasks.StateDone, Cause: tasks.CauseTimeout, Provider: provider.MustName("primary"), ErrorKind: provider.KindNetwork,
				Reason: provider.ReasonTimeout, Marker: degraded,
			},
			{
				Envelope: executor.Envelope{Step: tables, Outcome: executor.OutcomeAbstained, Latency: time.Millisecond},
				State:    tasks.StateDone, Marker: tasks.Marker{Outcome: executor.OutcomeAbstained},
			},
			{
				Envelope: executor.Envelope{
					Step: executor.MustStepID("optional"), Outcome: executor.OutcomeFailed, FailureClass: executor.ClassSchema, Attempts: 1,
					Latency: 1250 * time.Millisecond, Model: executor.ModelVersionOf("gpt-x-2026"), Prompt: prompt, Usage: executor.Tokens(80, 12),
				},
				State: tasks.StateDone, Cause: tasks.CauseSchema, Provider: provider.MustName("backup"), ErrorKind: provider.KindOutputValidation,
				Reason: provider.ReasonSchema, Marker: tasks.Marker{Outcome: executor.OutcomeFailed, Step: executor.MustStepID("optional"), Cause: tasks.CauseSchema},
			},
			{
				Envelope: executor.Envelope{Step: executor.MustStepID("after"), Outcome: executor.OutcomeFailed},
				State:    tasks.StateDone, Skipped: true, Cause: tasks.CauseDependency,
				Marker: tasks.Marker{Outcome: executor.OutcomeFailed, Step: executor.MustStepID("optional"), Cause: tasks.CauseSchema},
			},
			{
				Envelope: executor.Envelope{
					Step: executor.MustStepID("assemble"), Outcome: executor.OutcomeOK, Attempts: 1, Latency: 3 * time.Millisecond,
				},
				State: tasks.StateDone, Marker: degraded,
			},
		},
		Values: map[executor.StepID]content.Of[json.RawMessage]{
			executor.MustStepID("assemble"): content.New(json.RawMessage(`{"parts":[1,2],"title":"Memo"}`)),
		},
	}
}

func openRun(t *testing.T) tasks.Status {
	t.Helper()
	st := degradedRun(t)
	st.State, st.Outcome, st.Finished, st.Values = tasks.StateOpen, executor.OutcomeNone, time.Time{}, nil
	st.Counts = tasks.Counts{Degraded: 1}
	st.Steps = st.Steps[:1]
	for id, state := range map[string]string{"tables": tasks.StateRunning} {
		st.Steps = append(st.Steps, tasks.StepStatus{Envelope: executor.Envelope{Step: executor.MustStepID(id)}, State: state})
	}
	return st
}

// waitingRun has a step for each thing that a step may wait for.
func waitingRun(t *testing.T) tasks.Status {
	t.Helper()
	st := openRun(t)
	st.Steps, st.Counts, st.Marker = nil, tasks.Counts{}, tasks.Marker{}
	for i, w := range []tasks.WaitsFor{tasks.WaitsForHandler, tasks.WaitsForChain, tasks.WaitsForProvider, tasks.WaitsForWorker} {
		st.Steps = append(st.Steps, tasks.StepStatus{
			Envelope: executor.Envelope{Step: executor.MustStepID("needs-" + string(w))}, State: tasks.StateQueued,
			WaitsFor: w, Waits: st.Created.Add(time.Duration(i) * time.Second),
		})
	}
	return st
}

func TestAStatusForPeople(t *testing.T) {
	s, out, _ := streams()
	session := &session{streams: s}
	for i, st := range []tasks.Status{degradedRun(t), openRun(t)} {
		if i > 0 {
			out.WriteString("\n----\n")
		}
		if err := session.show(st); err != nil {
			t.Fatal(err)
		}
	}
	out.WriteString("\n----\n")
	showStatus(s, waitingRun(t), waitingRun(t).Created.Add(3*time.Minute))
	golden(t, "status.txt", out.String())
	out.Reset()
	session.named = true
	if err := session.show(openRun(t)); err != nil || !strings.HasPrefix(out.String(), "flow ") {
		t.Errorf("%v; a run that is named already is named again:\n%s", err, out)
	}
}

// The longest names and numbers there may be.
func TestAStatusIsNoWiderThanItsScreen(t *testing.T) {
	wide := degradedRun(t)
	for i := range wide.Steps {
		s := &wide.Steps[i]
		s.Step = executor.MustStepID(strings.Repeat("s", 61) + "-" + strconv.Itoa(i))
		s.Provider = provider.MustName(strings.Repeat("p", 63))
		s.Model = executor.ModelVersionOf(strings.Repeat("m", 100))
		s.ErrorKind, s.Reason, s.FailureClass = provider.KindOutputValidation, provider.ReasonContentFilter, executor.ClassUpstream5xx
		s.Attempts, s.Latency, s.Usage = 1000, 100*time.Hour, executor.Tokens(12_345_678, 1_234_567)
	}
	for _, columns := range []int{0, 100, 80, 60, 40} {
		s, out, _ := streams()
		s.Columns = columns
		stepTable(s, wide.Steps).Write(out, "")
		room := columns
		if room == 0 {
			room = cli.Width
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > room {
				t.Errorf("%d of %d columns: %s", n, room, line)
			}
		}
		if !strings.Contains(out.String(), "1  ABSTAINED") || !strings.Contains(out.String(), "OUTCOME") {
			t.Errorf("%d columns: steps cannot be told apart:\n%s", columns, out)
		}
	}
}

func TestTimesBelowAMillisecondAreNotNothing(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "<1ms", 499 * time.Microsecond: "<1ms", 500 * time.Microsecond: "1ms", 12 * time.Millisecond: "12ms", 64 * time.Second: "1m4s",
	} {
		if got := seconds(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

// The documents are a public contract: a change here is a change for producers.
func TestAStatusForPrograms(t *testing.T) {
	s, out, _ := streams()
	session := &session{streams: s, json: true}
	for _, st := range []tasks.Status{degradedRun(t), openRun(t), waitingRun(t)} {
		if err := session.show(st); err != nil {
			t.Fatal(err)
		}
	}
	if err := printRuns(s, []tasks.Status{openRun(t)}); err != nil {
		t.Fatal(err)
	}
	if err := printRuns(s, nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "status.json", out.String())
}

func TestListsForPeople(t *testing.T) {
	s, out, _ := streams()
	now := time.Date(2026, 1, 2, 5, 4, 5, 0, time.UTC)
	long := degradedRun(t)
	long.Flow, long.Outcome = "a-flow-whose-name-goes-on-and-on", executor.OutcomeAbstained
	long.Marker = tasks.Marker{Outcome: executor.OutcomeDegraded, Step: executor.MustStepID("classify-tables-and-more"), Cause: tasks.CauseUpstream5xx}
	showRuns(s, []tasks.Status{degradedRun(t), openRun(t), waitingRun(t)}, now)
	showRuns(s, []tasks.Status{long}, now)
	showRuns(s, nil, now)
	showQueues(s, []tasks.QueueStatus{
		{Queue: "default", Pending: 12, Active: 3, OpenRuns: 9, OldestPendingMS: 1250},
		{Queue: "bulk", Scheduled: 1200, Archived: 1, FailedRuns: 4, Paused: true},
	})
	showQueues(s, nil)
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > cli.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	golden(t, "lists.txt", out.String())
}

func TestColoursAreForTerminals(t *testing.T) {
	s, out, _ := streams()
	s.Colour = true
	showRuns(s, []tasks.Status{degradedRun(t)}, time.Time{})
	if want := "\x1b[33mDEGRADED\x1b[0m"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in %q", want, out)
	}
}

func TestTheHelpOfEachCommand(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var all strings.Builder
	for _, command := range []string{"", "run", "batch", "status", "watch", "wait", "cancel", "rerun", "list", "check", "queues", "pause", "resume", "discard", "version"} {
		s, out, _ := streams()
		args := strings.Fields(command + " --help")
		if status := run(t.Context(), args, s); status != 0 {
			t.Errorf("%v: status %d", args, status)
		}
		all.WriteString("$ enqueue " + strings.Join(args, " ") + "\n" + out.String() + "\n")
	}
	golden(t, "help.txt", all.String())
}

func TestEachOutcomeHasItsExitStatus(t *testing.T) {
	for o, want := range map[executor.Outcome]error{
		executor.OutcomeNone: nil, executor.OutcomeOK: nil, executor.OutcomeAbstained: nil,
		executor.OutcomeDegraded: cli.Status(3), executor.OutcomeFailed: cli.Status(4),
	} {
		if got := exit(o); got != want {
			t.Errorf("%s: %v, want %v", o, got, want)
		}
	}
}
