package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fourfold/internal/openaitest"
)

const twoSteps = `
  - {id: before, prompt: before.tmpl, budget: {attempts: 2, per_attempt: 60s, total: 60s}}
  - {id: held, prompt: held.tmpl, needs: [before], budget: {attempts: 2, per_attempt: 60s, total: 60s}}
`

// brief is a lease that a survivor need not wait long for.
const brief = "lease: 5s\n"

func TestAnotherWorkerFinishesWhatAKilledOneHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("<before>", openaitest.Text("before"))
	w.model.On("<held>", openaitest.Hang(), openaitest.Text("held"))
	first := w.start(w.config(brief))
	submitted := w.enqueueWith(`{}`, "run", w.promptFlow("two", twoSteps, "before", "held"), "--input", "-", "--json").decode(t)
	w.model.Await("<held>", 1)
	first.kill()
	w.start(w.config(brief))
	r := w.enqueue("wait", submitted.Run, "--json", "--timeout", "100s")
	d := r.decode(t)
	if r.status != 0 || d.Outcome != "OK" || string(d.Values["held"]) != `"held"` {
		t.Fatalf("status %d, %+v\n%s", r.status, d, r.stderr)
	}
	// What the dead worker had recorded is not paid for again; what it held is.
	if before, held := w.model.Calls("<before>"), w.model.Calls("<held>"); before != 1 || held != 2 {
		t.Errorf("%d calls of before, %d of held; want 1 and 2", before, held)
	}
	if s := d.step(t, "held"); s.Attempts != 1 {
		t.Errorf("held has %d attempts: a crash is no attempt", s.Attempts)
	}
}

func TestSIGTERMLetsCallsEndAndLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	w.model.On("<only>", openaitest.After(release, openaitest.Text("only")))
	config := w.config("concurrency: 8\ndrain: 50s\n")
	first := w.start(config)
	flow := w.promptFlow("only", "  - {id: only, prompt: only.tmpl, budget: {attempts: 2, per_attempt: 55s, total: 55s}}\n", "only")
	const runs = 30
	batch := make(chan result, 1)
	go func() {
		batch <- w.enqueueWith(lines(runs), "batch", flow, "--inputs", "-", "--wait", "--json")
	}()
	w.model.Await("<only>", 8) // as many calls in flight as it has slots
	status := make(chan int, 1)
	go func() { status <- first.terminate() }()
	awaitLog(t, first, "worker draining")
	close(release)
	if got := <-status; got != 0 {
		t.Errorf("exit status %d after SIGTERM", got)
	}
	drained := w.model.Calls("<only>")
	w.start(config)
	r := <-batch
	if r.status != 0 || len(r.decodeLines(t)) != runs {
		t.Fatalf("status %d, %d rows\n%s", r.status, len(r.decodeLines(t)), r.stderr)
	}
	// Calls that could end did end, and were recorded: none of the runs asked twice.
	if total := w.model.Calls("<only>"); total != runs {
		t.Errorf("%d calls for %d runs (%d before the first worker had ended)", total, runs, drained)
	}
}

func TestASecondSignalEndsTheDrainAndGivesTheRestBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("<only>", openaitest.Hang(), openaitest.Text("only"))
	config := w.config("drain: 1h\n") // terminate has less patience
	first := w.start(config)
	flow := w.promptFlow("only", "  - {id: only, prompt: only.tmpl, budget: {attempts: 2, per_attempt: 55s, total: 55s}}\n", "only")
	submitted := w.enqueueWith(`{}`, "run", flow, "--input", "-", "--json").decode(t)
	w.model.Await("<only>", 1)
	status := make(chan int, 1)
	go func() { status <- first.terminate() }()
	awaitLog(t, first, "worker draining")
	if got := first.terminate(); got != 0 || <-status != 0 {
		t.Errorf("exit status %d", got)
	}
	w.start(config)
	r := w.enqueue("wait", submitted.Run, "--json", "--timeout", "100s")
	if d := r.decode(t); r.status != 0 || d.Outcome != "OK" || w.model.Calls("<only>") != 2 {
		t.Errorf("status %d, %+v, %d calls", r.status, d, w.model.Calls("<only>"))
	}
}

func TestTwoWorkersShareAQueueAndRepeatNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// Both must hold a call at the same time before any call is answered: so both take part.
	release := make(chan struct{})
	w.model.On("<only>", openaitest.After(release, openaitest.Text("only")))
	config := w.config("concurrency: 3\n")
	w.start(config)
	w.start(config)
	flow := w.promptFlow("only", "  - {id: only, prompt: only.tmpl, budget: {attempts: 2, per_attempt: 55s, total: 55s}}\n", "only")
	const runs = 40
	batch := make(chan result, 1)
	go func() {
		batch <- w.enqueueWith(lines(runs), "batch", flow, "--inputs", "-", "--wait", "--json")
	}()
	w.model.Await("<only>", 6)
	close(release)
	r := <-batch
	if r.status != 0 || len(r.decodeLines(t)) != runs || w.model.Calls("<only>") != runs {
		t.Errorf("status %d, %d rows, %d calls for %d runs\n%s", r.status, len(r.decodeLines(t)), w.model.Calls("<only>"), runs, r.stderr)
	}
}

func TestAWorkerWaitsForARedisThatComesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("<only>", openaitest.Text("only"))
	config := w.config("")
	w.redis.Kill()
	p := w.start(config)
	awaitLog(t, p, "Redis does not answer")
	refused := w.enqueue("queues")
	if refused.status != 1 || !strings.Contains(refused.stderr, "no answer from Redis at redis://127.0.0.1:") {
		t.Errorf("status %d, stderr %q", refused.status, refused.stderr)
	}
	w.redis.Restart()
	flow := w.promptFlow("only", "  - {id: only, prompt: only.tmpl, "+quick+"}\n", "only")
	if r := w.run(flow, `{}`); r.status != 0 {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
}

// lines are n different inputs.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"n\": %d}\n", i)
	}
	return b.String()
}

// awaitLog waits for a line of the worker's log with this message.
func awaitLog(t *testing.T, p *worker, message string) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		for line := range strings.Lines(p.log.String()) {
			var entry struct{ Message string }
			if json.Unmarshal([]byte(line), &entry) == nil && strings.HasPrefix(entry.Message, message) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the worker never says %q:\n%s", message, p.log)
		}
	}
}
