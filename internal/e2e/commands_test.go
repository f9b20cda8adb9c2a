package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/internal/openaitest"
)

const onlyStep = "  - {id: only, prompt: only.tmpl, " + quick + "}\n"

func TestSubmittingWithAKeyIsIdempotent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("<only>", openaitest.Text("once"))
	w.start(w.config(""))
	flow := w.promptFlow("only", onlyStep, "only")
	first := w.run(flow, `{"n": 1}`, "--key", "k").decode(t)
	second := w.run(flow, `{"n": 1}`, "--key", "k").decode(t)
	if first.Run != second.Run || w.model.Calls("<only>") != 1 {
		t.Errorf("runs %s and %s, %d calls", first.Run, second.Run, w.model.Calls("<only>"))
	}
	conflict := w.run(flow, `{"n": 2}`, "--key", "k")
	if conflict.status != 1 || !strings.Contains(conflict.stderr, "used for another bundle or input") || conflict.stdout != "" {
		t.Errorf("another input under the same key: status %d, %q, %q", conflict.status, conflict.stdout, conflict.stderr)
	}
}

func TestAnOpenRunExitsWithZeroAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flow := w.promptFlow("only", onlyStep, "only")
	r := w.enqueueWith(`{}`, "run", flow, "--input", "-", "--json")
	d := r.decode(t)
	if r.status != 0 || d.State != "open" || d.Outcome != "" {
		t.Errorf("status %d, %+v", r.status, d)
	}
	people := w.enqueueWith(`{}`, "run", flow, "--input", "-")
	id := strings.TrimSpace(people.stdout)
	if people.status != 0 || !strings.HasPrefix(id, "default.") || strings.ContainsAny(id, " \n") {
		t.Errorf("without --json the run id alone is printed, got %q", people.stdout)
	}
	waited := w.enqueue("wait", d.Run, "--json", "--timeout", "100ms")
	if waited.status != 1 || !strings.Contains(waited.stderr, "still open") || waited.decode(t).State != "open" {
		t.Errorf("a wait that ends early: status %d, %q", waited.status, waited.stderr)
	}
	canceled := w.enqueue("cancel", d.Run, "--json")
	if want := fmt.Sprintf("{\"run\":%q,\"canceled\":true}\n", d.Run); canceled.status != 0 || canceled.stdout != want {
		t.Errorf("status %d, %s", canceled.status, canceled.stdout)
	}
	after := w.enqueue("status", d.Run, "--json")
	if doc := after.decode(t); after.status != 4 || *doc.Marker != (marker{"FAILED", "only", "canceled"}) || doc.step(t, "only").Cause != "canceled" {
		t.Errorf("status %d, %+v", after.status, doc)
	}
	again := w.enqueue("cancel", d.Run, "--json")
	if want := fmt.Sprintf("{\"run\":%q,\"canceled\":false}\n", d.Run); again.status != 0 || again.stdout != want {
		t.Errorf("cancelling twice: status %d, %s", again.status, again.stdout)
	}
}

func TestRerunPaysOnlyForWhatHasNoValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("<good>", openaitest.Text("good"))
	w.model.On("<bad>", openaitest.Status(503))
	w.start(w.config(""))
	flow := w.promptFlow("two", fmt.Sprintf(`
  - {id: good, prompt: good.tmpl, %[1]s}
  - {id: bad, prompt: bad.tmpl, %[1]s, needs: [good]}
`, quick), "good", "bad")
	failed := w.run(flow, `{}`)
	d := failed.decode(t)
	if failed.status != 4 {
		t.Fatalf("status %d", failed.status)
	}
	listed := w.enqueue("list", "--outcome", "failed", "--json")
	var list struct{ Runs []document }
	if err := json.Unmarshal([]byte(listed.stdout), &list); err != nil || len(list.Runs) != 1 || list.Runs[0].Run != d.Run {
		t.Errorf("list: %v, %s", err, listed.stdout)
	}
	w.model.On("<bad>", openaitest.Text("mended"))
	other := w.enqueue("rerun", "--failed", "--class", "timeout", "--json")
	if other.status != 0 || other.stdout != "" {
		t.Errorf("another class picks nothing, got %s", other.stdout)
	}
	bulk := w.enqueue("rerun", "--failed", "--class", "upstream-5xx", "--since", "1h", "--json")
	if want := fmt.Sprintf("{\"run\":%q,\"rerun\":true}\n", d.Run); bulk.status != 0 || bulk.stdout != want {
		t.Errorf("status %d, %s%s", bulk.status, bulk.stdout, bulk.stderr)
	}
	r := w.enqueue("wait", d.Run, "--json", "--timeout", "60s")
	if doc := r.decode(t); r.status != 0 || string(doc.Values["bad"]) != `"mended"` {
		t.Errorf("status %d, %+v", r.status, doc)
	}
	if good, bad := w.model.Calls("<good>"), w.model.Calls("<bad>"); good != 1 || bad != 3 {
		t.Errorf("%d calls of good, %d of bad; want 1 and 3", good, bad)
	}
	if nothing := w.enqueue("rerun", d.Run); nothing.status != 1 || !strings.Contains(nothing.stderr, d.Run) {
		t.Errorf("rerun of a good run: status %d, %q", nothing.status, nothing.stderr)
	}
}

func TestWatchShowsEachChangeAndEndsWithTheOutcome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	w.model.On("<only>", openaitest.After(release, openaitest.Text("only")))
	w.start(w.config(""))
	flow := w.promptFlow("only", "  - {id: only, prompt: only.tmpl, budget: {attempts: 1, per_attempt: 50s, total: 50s}}\n", "only")
	d := w.enqueueWith(`{}`, "run", flow, "--input", "-", "--json").decode(t)
	watching := make(chan result, 1)
	go func() { watching <- w.enqueue("watch", d.Run, "--json") }()
	w.model.Await("<only>", 1)
	close(release)
	r := <-watching
	docs := r.decodeLines(t)
	last := docs[len(docs)-1]
	if r.status != 0 || last.State != "done" || string(last.Values["only"]) != `"only"` {
		t.Errorf("status %d, last %+v", r.status, last)
	}
	for _, doc := range docs[:len(docs)-1] {
		if doc.State != "open" || doc.Values != nil {
			t.Errorf("an earlier line is %+v", doc)
		}
	}
}

func TestBatchKeepsTheOrderAndResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On(`"bad"`, openaitest.Status(503))
	w.model.On("<only>", openaitest.Text("fine"))
	w.start(w.config(""))
	flow := w.promptFlow("only", onlyStep, "only")
	inputs := w.write("in.jsonl", "{\"id\": \"a\"}\n\n{\"id\": \"bad\"}\n{\"id\": \"c\"}\n")
	results := filepath.Join(w.dir, "out.jsonl")
	args := []string{"batch", flow, "--inputs", inputs, "--results", results, "--key-field", "id", "--json"}
	r := w.enqueue(args...)
	type row struct {
		Line         int
		Key, Outcome string
	}
	rows := func(docs []document) (rows []row) {
		for _, d := range docs {
			rows = append(rows, row{d.Line, d.Key, d.Outcome})
		}
		return rows
	}
	want := []row{{1, "a", "OK"}, {3, "bad", "FAILED"}, {4, "c", "OK"}}
	if diff := cmp.Diff(want, rows(r.decodeLines(t))); diff != "" || r.status != 4 {
		t.Errorf("status %d (-want +got):\n%s", r.status, diff)
	}
	whole := read(t, results)
	if whole != r.stdout {
		t.Errorf("the results file differs from standard output:\n%s%s", whole, r.stdout)
	}
	calls := w.model.Total()

	// Cut in the middle of the last row, as by a crash; the file is mended without a further call.
	if err := os.WriteFile(results, []byte(whole[:len(whole)-20]), 0o600); err != nil {
		t.Fatal(err)
	}
	resumed := w.enqueue(args...)
	if got := read(t, results); got != whole || resumed.status != 4 {
		t.Errorf("status %d; after resuming:\n%s\nwant:\n%s", resumed.status, got, whole)
	}
	if n := len(resumed.decodeLines(t)); n != 1 || w.model.Total() != calls {
		t.Errorf("resuming printed %d rows and made %d calls", n, w.model.Total()-calls)
	}

	// Without results to go on from, the same runs are found again, and the summary says that none of them is new.
	again := w.enqueue("batch", flow, "--inputs", inputs, "--key-field", "id", "--wait")
	if !strings.Contains(again.stdout, "3 runs: 2 OK, 1 FAILED; all submitted before; enqueue rerun --failed") || w.model.Total() != calls {
		t.Errorf("status %d, %q, %d more calls", again.status, again.stdout, w.model.Total()-calls)
	}

	// The results of other inputs are not overwritten.
	other := w.write("other.jsonl", "{\"id\": \"z\"}\n")
	refused := w.enqueue("batch", flow, "--inputs", other, "--results", results, "--key-field", "id")
	if refused.status != 1 || !strings.Contains(refused.stderr, "belongs to another input") || read(t, results) != whole {
		t.Errorf("status %d, %q", refused.status, refused.stderr)
	}
}

func TestAnInterruptedBatchGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	w.model.On(`"n":2`, openaitest.After(release, openaitest.Text("late")))
	w.model.On("<only>", openaitest.Text("fine"))
	w.start(w.config(""))
	flow := w.promptFlow("only", "  - {id: only, prompt: only.tmpl, budget: {attempts: 1, per_attempt: 50s, total: 50s}}\n", "only")
	inputs := w.write("in.jsonl", lines(6))
	results := filepath.Join(w.dir, "out.jsonl")
	args := []string{"batch", flow, "--inputs", inputs, "--results", results, "--in-flight", "3"}
	var errs lockedBuffer
	cmd := exec.Command(filepath.Join(programs, "enqueue"), args...)
	cmd.Env = append(cleanEnvironment(), "FOURFOLD_REDIS="+w.redis.URL())
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.model.Await(`"n":2`, 1)
	w.model.Await("<only>", 4) // those before it, and those that fit beside it
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(errs.String(), "the same command again goes on from here") {
		t.Errorf("status %d, %q", cmd.ProcessState.ExitCode(), errs.String())
	}
	close(release)
	r := w.enqueue(args...)
	if rows := strings.Count(read(t, results), "\n"); r.status != 0 || rows != 6 || w.model.Total() != 6 {
		t.Errorf("status %d, %d rows, %d calls\n%s", r.status, rows, w.model.Total(), r.stderr)
	}
}

func TestBatchChecksAFileBeforeAnythingIsQueued(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flow := w.promptFlow("only", onlyStep, "only")
	inputs := w.write("in.jsonl", "{\"id\": 1}\n{\"id\": 2\n{\"no\": 3}\n")
	r := w.enqueue("batch", flow, "--inputs", inputs, "--key-field", "id")
	if r.status != 1 || !strings.Contains(r.stderr, "in.jsonl:2:") || !strings.Contains(r.stderr, "in.jsonl:3:") {
		t.Errorf("status %d, %q", r.status, r.stderr)
	}
	if queues := w.enqueue("queues", "--json"); strings.TrimSpace(queues.stdout) != `{"queues":[]}` {
		t.Errorf("something was queued: %s", queues.stdout)
	}
	// Standard input cannot be read twice: a bad line is a row, and the others go on.
	piped := w.enqueueWith("{\"id\": 1}\n{\"id\": 2\n", "batch", flow, "--inputs", "-", "--json")
	rows := piped.decodeLines(t)
	if piped.status != 1 || len(rows) != 2 || rows[0].State != "open" || rows[1].Error == "" || rows[1].Line != 2 {
		t.Errorf("status %d, %s", piped.status, piped.stdout)
	}
}

func TestQueuesShowsWhatWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flow := w.promptFlow("only", onlyStep, "only")
	for range 3 {
		if r := w.enqueueWith(`{}`, "run", flow, "--input", "-", "--queue", "bulk"); r.status != 0 {
			t.Fatal(r.stderr)
		}
	}
	var doc struct {
		Queues []struct {
			Queue    string `json:"queue"`
			Pending  int    `json:"pending"`
			OpenRuns int    `json:"open_runs"`
		} `json:"queues"`
	}
	r := w.enqueue("queues", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || len(doc.Queues) != 1 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	if q := doc.Queues[0]; q.Queue != "bulk" || q.Pending != 3 || q.OpenRuns != 3 {
		t.Errorf("%+v", q)
	}
	var open struct{ Runs []document }
	listed := w.enqueue("list", "--open", "--json", "--limit", "2")
	if err := json.Unmarshal([]byte(listed.stdout), &open); err != nil || len(open.Runs) != 2 {
		t.Errorf("%v: %s", err, listed.stdout)
	}
}

func TestWrongUsageAndErrorsOfOnesOwnHaveTheirExitStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flow := w.promptFlow("only", onlyStep, "only")
	unknown := "default.00000000000000000000000000"
	for _, c := range []struct {
		name   string
		args   []string
		stdin  string
		status int
		says   string
	}{
		{"no command", nil, "", 2, "expected one of"},
		{"unknown flag", []string{"queues", "--frobnicate"}, "", 2, "unknown flag"},
		{"unknown command", []string{"quues"}, "", 2, "queues"},
		{"no input", []string{"run", flow}, "", 2, "--input"},
		{"not a run id", []string{"status", "nonsense"}, "", 2, "not a run id"},
		{"unknown run", []string{"status", unknown}, "", 1, "is not there"},
		{"wait for an unknown run", []string{"wait", unknown}, "", 1, "is not there"},
		{"cancel an unknown run", []string{"cancel", unknown}, "", 1, "is not there"},
		{"rerun an unknown run", []string{"rerun", unknown}, "", 1, "is not there"},
		{"rerun of nothing", []string{"rerun"}, "", 2, "takes a run, or --failed"},
		{"rerun with a class that is none", []string{"rerun", "--failed", "--class", "bad-luck"}, "", 2, "upstream-5xx"},
		{"two JSON values", []string{"run", flow, "--input", "-"}, "{} {}", 1, "standard input:1:4: not one JSON value"},
		{"no such flow", []string{"run", "nowhere.yaml", "--input", "-"}, "{}", 1, "nowhere.yaml"},
		{"no such input", []string{"run", flow, "--input", "nowhere.json"}, "", 1, "nowhere.json"},
		{"bad queue", []string{"run", flow, "--input", "-", "--queue", "No{}"}, "{}", 2, "queue name"},
		{"bad Redis address", []string{"queues", "--redis", "http://x:secret@y"}, "", 2, "must begin with redis://"},
	} {
		r := w.enqueueWith(c.stdin, c.args...)
		if r.status != c.status || !strings.Contains(r.stderr, c.says) || r.stdout != "" || strings.Contains(r.stderr, "secret") {
			t.Errorf("%s: status %d, stdout %q, stderr %q; want status %d and %q", c.name, r.status, r.stdout, r.stderr, c.status, c.says)
		}
	}
}

func TestCheckNamesEveryProblemWithItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad := w.write("bad.yaml", "flow: bad\nsteps:\n  - id: a\n    promt: x.tmpl\n    needs: [b]\n    budget: {attempts: 1, per_attempt: 1s, total: 1s}\n")
	r := w.enqueue("check", bad)
	if r.status != 1 || !strings.Contains(r.stderr, "bad.yaml:4:5: ") || !strings.Contains(r.stderr, "bad.yaml:5:13: ") {
		t.Errorf("status %d, %q", r.status, r.stderr)
	}
	var report struct {
		Problems []struct {
			File         string `json:"file"`
			Line, Column int
			Message      string
		} `json:"problems"`
	}
	r = w.enqueue("check", bad, "--json")
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.status != 1 || len(report.Problems) != 3 || report.Problems[1].Line != 4 || report.Problems[1].Column != 5 {
		t.Errorf("status %d, %v, %s", r.status, err, r.stdout)
	}
	// A flow that fits no chain of the worker is told before anything is queued.
	flow := w.promptFlow("needs", "  - {id: only, prompt: only.tmpl, requires: [vision], "+quick+"}\n", "only")
	if r := w.enqueue("check", flow); r.status != 0 {
		t.Errorf("without a configuration: status %d, %s", r.status, r.stderr)
	}
	r = w.enqueue("check", flow, "--config", w.config(""))
	if r.status != 1 || !strings.Contains(r.stderr, "vision") {
		t.Errorf("with a configuration: status %d, %s", r.status, r.stderr)
	}
}
