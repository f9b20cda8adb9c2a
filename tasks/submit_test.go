package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/internal/redistest"
	"fourfold/tasks"
)

// independent is a flow of n steps of which none needs another.
func independent(n int) string {
	yaml := fmt.Sprintf("flow: independent-%d\nsteps:\n", n)
	for i := range n {
		yaml += step(fmt.Sprint("s", i), "")
	}
	return yaml
}

// waiting is what is in the default queue, and what is still to be rung for.
func waiting(t *testing.T, f *fleet) (pending, outbox int) {
	t.Helper()
	info, err := asynq.NewInspectorFromRedisClient(f.rdb).GetQueueInfo("default")
	if err != nil {
		t.Fatal(err)
	}
	posted, err := f.rdb.ZCard(context.Background(), "fourfold:{default}:outbox").Result()
	if err != nil {
		t.Fatal(err)
	}
	return info.Pending, int(posted)
}

// Few roots are posted by the script that makes the run, many are rung for after it.
func lifeASubmittedRunWaitsInTheQueue(t *testing.T, f *fleet) {
	want := 0
	for _, roots := range []int{1, 3, 80} {
		b := bundle(t, independent(roots))
		for range 2 { // the second time it is there
			_, err := f.client.Submit(context.Background(), tasks.Submission{Bundle: b, Input: content.New(json.RawMessage("1")), Key: "k"})
			if err != nil {
				t.Fatal(err)
			}
		}
		want += roots
		if pending, outbox := waiting(t, f); pending != want || outbox != 0 {
			t.Errorf("%d roots: %d tasks pending, want %d; %d entries in the outbox", roots, pending, want, outbox)
		}
	}
}

// Of a bundle that a queue's node believes to be there, and another has lost, one run at most is rejected.
func lifeALostBundleIsStoredAgain(t *testing.T, f *fleet) {
	b := bundle(t, threeSteps(""))
	run := f.submit(b, `1`)
	if err := f.rdb.Del(context.Background(), "fourfold:bundle:"+b.SHA().String()).Err(); err != nil {
		t.Fatal(err)
	}
	m := newModel(fine)
	f.worker(m, nil)
	if s := f.wait(run); s.Marker.Cause != tasks.CauseRejected {
		t.Errorf("cause %v", s.Marker.Cause)
	}
	if s := f.wait(f.submit(b, `1`)); s.Outcome != executor.OutcomeOK {
		t.Errorf("outcome %v", s.Outcome)
	}
}

// A producer finds its bundle gone with everything else, and goes on.
func TestAfterAFlushABundleIsStoredAgain(t *testing.T) {
	s := redistest.Start(t)
	f := newFleet(t, s.Client(t))
	b := bundle(t, threeSteps(""))
	f.submit(b, `1`)
	if err := s.Admin(t).FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	run := f.submit(b, `1`)
	f.worker(newModel(fine), nil)
	if s := f.wait(run); s.Outcome != executor.OutcomeOK {
		t.Errorf("outcome %v", s.Outcome)
	}
}

// infoNumber reads one number of INFO.
func infoNumber(t *testing.T, s *redistest.Server, section, field string) int {
	t.Helper()
	text, err := s.Admin(t).Info(context.Background(), section).Result()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, field); found {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n
}

func TestASubmitIsOneRoundTrip(t *testing.T) {
	s := redistest.Start(t)
	f := newFleet(t, s.Client(t))
	b := bundle(t, threeSteps(""))
	f.submit(b, `1`) // loads the script, stores the bundle
	const runs = 200
	before := infoNumber(t, s, "stats", "total_reads_processed:")
	for range runs {
		f.submit(b, `1`)
	}
	// A few more: the question itself, and the queue's name, which is told again every 15 seconds.
	if got := infoNumber(t, s, "stats", "total_reads_processed:") - before; got < runs || got > runs+runs/10 {
		t.Errorf("%d submits took %d round trips", runs, got)
	}
}

// A run of three steps in a chain that meets an idle worker: one script makes it, one takes and begins it, one ends each step
// and begins the next, and asynq is told that its task is done.
func TestAChainOfThreeTakesSixScripts(t *testing.T) {
	s := redistest.Start(t)
	f := newFleet(t, s.Client(t))
	b := bundle(t, threeSteps(""))
	f.worker(newModel(fine), nil)
	f.wait(f.submit(b, `1`))
	const runs = 50
	scripts := func() int { return infoNumber(t, s, "commandstats", "cmdstat_evalsha:calls=") }
	before, begin := scripts(), time.Now()
	for range runs {
		time.Sleep(20 * time.Millisecond) // so that the fleet is idle again
		f.wait(f.submit(b, `1`))
	}
	got, took := scripts()-before, time.Since(begin)
	const most = 6*runs + runs/2 // and now and then asynq's heartbeat, or a second look; seven would be a begin of its own
	if got > most {              // on a slow machine there are more of those: as many as without a run
		before = scripts()
		time.Sleep(took)
		got -= scripts() - before
	}
	if got < 5*runs || got > most {
		t.Errorf("%d runs took %d scripts, want six each", runs, got)
	}
}
