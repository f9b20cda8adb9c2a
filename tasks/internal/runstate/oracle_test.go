package runstate_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/internal/redistest"
	"fourfold/tasks/internal/oracle"
	"fourfold/tasks/internal/runstate"
)

var terms = runstate.Terms{Lease: time.Minute, MaxDeliveries: 3, WantInput: true}

// onEveryRedis runs f against each kind of Redis that the scripts must work on.
func onEveryRedis(t *testing.T, f func(t *testing.T, rdb redis.UniversalClient)) {
	t.Run("embedded", func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
		t.Cleanup(func() { _ = rdb.Close() })
		f(t, rdb)
	})
	t.Run("single", func(t *testing.T) { f(t, redistest.Start(t).Client(t)) })
	t.Run("cluster", func(t *testing.T) { f(t, redistest.StartCluster(t, 3).Client(t)) })
}

// newStore returns a store whose queues have seen the bundle of newRun.
func newStore(tb testing.TB, rdb redis.UniversalClient) *runstate.Store {
	tb.Helper()
	s := runstate.NewStore(rdb)
	for i := range 3 {
		err := s.KeepBundle(context.Background(), "q"+strconv.Itoa(i), "00", 24*time.Hour, func() []byte { return []byte("bundle") })
		if err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

func newRun(name string, graph []runstate.Node) runstate.NewRun {
	return runstate.NewRun{
		Ref: runstate.Ref{Queue: "q" + strconv.Itoa(len(name)%3), Run: name}, InputHash: "11",
		Shape: runstate.ShapeOf("f", []byte{0}, graph), Retention: time.Hour, Input: inputOf(name),
	}
}

// inputOf is a small input, or, for every second name, one that is kept apart from the run's records.
func inputOf(name string) []byte {
	if name[len(name)-1]%2 == 0 {
		return []byte(`{"in":1}`)
	}
	return []byte(`{"in":"` + strings.Repeat("1", 100) + `"}`)
}

func end(own oracle.Own, step int) runstate.Ending {
	e := runstate.Ending{Outcome: own.Outcome, Cause: own.Cause}
	if own.Outcome != executor.OutcomeFailed {
		e.Value = []byte(strconv.Itoa(step))
	}
	return e
}

// work plays every ready unit in random order, with duplicates, until nothing is ready.
func work(t *testing.T, s *runstate.Store, rng *rand.Rand, ref runstate.Ref, gen int, ready []runstate.Ready, own []oracle.Own) {
	t.Helper()
	ctx := context.Background()
	for n := 0; len(ready) > 0; n++ {
		i := rng.IntN(len(ready))
		r := ready[i]
		if rng.IntN(4) > 0 { // else it stays: a duplicate
			ready = append(ready[:i], ready[i+1:]...)
		}
		task := runstate.Task{Ref: ref, Generation: gen, Unit: r.Unit, Token: fmt.Sprint("t", n)}
		c, grant, err := s.Begin(ctx, task, terms)
		if err != nil {
			t.Fatal(err)
		}
		if c.Word == runstate.Done {
			continue
		}
		if c.Word != runstate.Claimed {
			t.Fatalf("begin: %s", c.Word)
		}
		if !bytes.Equal(grant.Input, inputOf(ref.Run)) {
			t.Fatalf("input = %q", grant.Input)
		}
		e := end(own[r.Unit.Step], r.Unit.Step)
		e.Carried = r.Marker
		c, err = s.Complete(ctx, task, e)
		if err != nil || c.Word != runstate.Settled {
			t.Fatalf("complete: %v %v", c.Word, err)
		}
		ready = append(ready, c.Ready...)
		if c, err = s.Complete(ctx, task, e); err != nil || c.Word != runstate.Done {
			t.Fatalf("second complete: %v %v", c.Word, err)
		}
	}
}

func compare(t *testing.T, s *runstate.Store, ref runstate.Ref, want oracle.RunResult) {
	t.Helper()
	got, ok, err := s.Read(context.Background(), ref)
	if err != nil || !ok {
		t.Fatalf("read: %v %v", ok, err)
	}
	if !got.Finished || got.Open != 0 {
		t.Fatalf("not finished: %+v", got)
	}
	res := oracle.RunResult{Marker: got.Marker, Counts: got.Counts, Calls: want.Calls}
	for _, st := range got.Steps {
		res.Steps = append(res.Steps, oracle.StepResult{Own: oracle.Own{Outcome: st.Outcome, Cause: st.Cause}, Skipped: st.Skipped, Marker: st.Marker})
	}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Fatalf("run differs from the pure evaluation (-want +got):\n%s", diff)
	}
}

func TestRunsEndAsThePureEvaluationSays(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		for seed := range uint64(150) {
			rng := rand.New(rand.NewPCG(seed, 1))
			graph := oracle.RandomGraph(rng, 9)
			own := oracle.RandomOwn(rng, len(graph))
			n := newRun(fmt.Sprintf("run%d", seed), graph)
			c, err := s.Create(context.Background(), n, nil)
			if err != nil || c.Word != runstate.Created {
				t.Fatal(c.Word, err)
			}
			work(t, s, rng, n.Ref, 1, c.Ready, own)
			compare(t, s, n.Ref, oracle.Evaluate(graph, own))
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

func TestRerunKeepsWhatHasAValue(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newStore(t, rdb)
		ctx := context.Background()
		for seed := range uint64(80) {
			rng := rand.New(rand.NewPCG(seed, 2))
			graph := oracle.RandomGraph(rng, 9)
			own := oracle.RandomOwn(rng, len(graph))
			n := newRun(fmt.Sprintf("rerun%d", seed), graph)
			c, err := s.Create(ctx, n, nil)
			if err != nil {
				t.Fatal(err)
			}
			work(t, s, rng, n.Ref, 1, c.Ready, own)
			failed := false
			for i := range own { // the second time everything goes well
				if own[i].Outcome == executor.OutcomeFailed {
					failed = true
					own[i] = oracle.Own{Outcome: executor.OutcomeOK}
				}
			}
			before := oracle.Evaluate(graph, own)
			c, err = s.Rerun(ctx, n.Ref)
			if err != nil {
				t.Fatal(err)
			}
			snap, _, _ := s.Read(ctx, n.Ref)
			if c.Word == runstate.Nothing {
				if snap.Counts[3]+snap.Counts[4] > 0 {
					t.Fatalf("seed %d (%v): nothing to rerun, but %v", seed, failed, snap.Counts)
				}
				continue
			}
			work(t, s, rng, n.Ref, c.Generation, c.Ready, own)
			compare(t, s, n.Ref, before)
		}
	})
}
