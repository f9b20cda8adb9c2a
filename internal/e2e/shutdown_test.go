package e2e

import (
	"fmt"
	"testing"
	"time"

	"fourfold/internal/openaitest"
)

// chainFlow is three steps in a row that ask the model.
func (w *world) chainFlow() string {
	w.t.Helper()
	budget := "budget: {attempts: 2, per_attempt: 55s, total: 55s}"
	return w.promptFlow("chain", fmt.Sprintf(`
  - {id: first, prompt: first.tmpl, %[1]s}
  - {id: second, prompt: second.tmpl, %[1]s, needs: [first]}
  - {id: third, prompt: third.tmpl, %[1]s, needs: [second]}
`, budget), "first", "second", "third")
}

// Each worker of three is replaced while all are busy: calls end, what follows from them is left to the others, and the
// whole costs not one call more.
func TestARollingRestartLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"first", "second", "third"} {
		w.model.On("<"+id+">", openaitest.Slow(100*time.Millisecond, openaitest.Text(id)))
	}
	config := w.config("concurrency: 4\ndrain: 50s\n")
	fleet := []*worker{w.start(config), w.start(config), w.start(config)}
	const runs = 100
	batch := make(chan result, 1)
	go func() {
		batch <- w.enqueueWith(lines(runs), "batch", w.chainFlow(), "--inputs", "-", "--wait", "--json")
	}()
	for i, p := range fleet { // as many calls as show that the fleet is in the middle of its work
		w.model.Await("<second>", 5+20*i)
		if status := p.terminate(); status != 0 {
			t.Errorf("worker %d ended with status %d", i+1, status)
		}
		w.start(config)
	}
	r := <-batch
	if docs := r.decodeLines(t); r.status != 0 || len(docs) != runs {
		t.Fatalf("status %d, %d rows\n%s", r.status, len(docs), r.stderr)
	}
	for _, id := range []string{"first", "second", "third"} {
		if n := w.model.Calls("<" + id + ">"); n != runs {
			t.Errorf("%d calls of %s for %d runs", n, id, runs)
		}
	}
}

// A call that does not end within the drain is cut, and asked again by the next worker: once, and nothing else is.
func TestACallThatOutlastsTheDrainIsAskedOnceMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model.On("<first>", openaitest.Text("first"))
	w.model.On("<second>", openaitest.Hang(), openaitest.Text("second"))
	w.model.On("<third>", openaitest.Text("third"))
	config := w.config("drain: 300ms\n")
	p := w.start(config)
	submitted := w.enqueueWith(`{}`, "run", w.chainFlow(), "--input", "-", "--json").decode(t)
	w.model.Await("<second>", 1)
	if status := p.terminate(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	w.start(config)
	r := w.enqueue("wait", submitted.Run, "--json", "--timeout", "100s")
	d := r.decode(t)
	if r.status != 0 || d.Outcome != "OK" || d.step(t, "second").Attempts != 1 {
		t.Errorf("status %d, %+v", r.status, d)
	}
	if got := [3]int{w.model.Calls("<first>"), w.model.Calls("<second>"), w.model.Calls("<third>")}; got != [3]int{1, 2, 1} {
		t.Errorf("calls %v", got)
	}
}

// The signal comes while Redis is silent and a worker is about to record what it paid for, and to ring for what follows. It
// does both when Redis answers again, and only then ends.
func TestSIGTERMDuringRecordingLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	w.model.On("<first>", openaitest.After(release, openaitest.Text("first")))
	w.model.On("<second>", openaitest.Text("second"))
	w.model.On("<third>", openaitest.Text("third"))
	config := w.config("drain: 55s\n")
	p := w.start(config)
	submitted := w.enqueueWith(`{}`, "run", w.chainFlow(), "--input", "-", "--json").decode(t)
	w.model.Await("<first>", 1)
	w.redis.Pause()
	close(release)
	awaitLog(t, p, "step could not be recorded yet")
	status := make(chan int, 1)
	go func() { status <- p.terminate() }()
	awaitLog(t, p, "worker draining")
	w.redis.Cont()
	if got := <-status; got != 0 {
		t.Errorf("exit status %d", got)
	}
	w.start(config)
	r := w.enqueue("wait", submitted.Run, "--json", "--timeout", "100s")
	if d := r.decode(t); r.status != 0 || d.Outcome != "OK" || w.model.Total() != 3 {
		t.Errorf("status %d, %+v, %d calls", r.status, d, w.model.Total())
	}
}
