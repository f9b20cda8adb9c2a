package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/internal/redistest"
	"fourfold/tasks"
)

// patient is a client that rides out an outage, as the worker program's does.
func patient(t testing.TB, s *redistest.Server) *redis.Client {
	t.Helper()
	o := s.Options()
	o.ReadTimeout, o.DialTimeout = 2*time.Second, 2*time.Second
	o.MaxRetries, o.MinRetryBackoff, o.MaxRetryBackoff = 10, 50*time.Millisecond, 1500*time.Millisecond
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// gated is a model whose calls of the step "held" wait for a word.
type gated struct {
	*model
	begun   chan struct{}
	release chan struct{} // one receive lets one call go on
}

func newGated() *gated {
	g := &gated{begun: make(chan struct{}, 64), release: make(chan struct{}, 64)}
	g.model = newModel(func(ctx context.Context, step string, _ int) (string, error) {
		if step != "held" {
			return "7", nil
		}
		g.begun <- struct{}{}
		select {
		case <-g.release:
			return "7", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	return g
}

func heldSteps() string {
	return "flow: held\nsteps:\n" + step("before", "") + step("held", "    needs: [before]\n") + step("after", "    needs: [held]\n")
}

// An outage far below a lease, one near two leases, one near four: the proportions of 5, 20 and 45 seconds to the usual
// twelve. Whether Redis is gone or answers nothing, what is in flight goes on, what ends meanwhile is recorded afterwards,
// and nothing is asked twice. (make soak has the true times.)
func TestAnOutageOfRedisRepeatsNoCall(t *testing.T) {
	const lease = 3600 * time.Millisecond
	for _, c := range []struct {
		name   string
		outage time.Duration
		begin  func(*redistest.Server)
		end    func(*redistest.Server)
	}{
		{"gone for less than a lease", 5 * lease / 12, (*redistest.Server).Kill, (*redistest.Server).Restart},
		{"gone for two leases", 20 * lease / 12, (*redistest.Server).Kill, (*redistest.Server).Restart},
		{"gone for four leases", 45 * lease / 12, (*redistest.Server).Kill, (*redistest.Server).Restart},
		{"silent for two leases", 20 * lease / 12, (*redistest.Server).Pause, (*redistest.Server).Cont},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Persistent())
			f := newFleet(t, patient(t, server))
			g := newGated()
			for range 2 {
				f.worker(g.model, func(cfg *tasks.WorkerConfig) { cfg.Redis, cfg.Lease = patient(t, server), lease })
			}
			const runs = 8
			b := bundle(t, heldSteps())
			var all []tasks.RunID
			for i := range runs {
				all = append(all, f.submit(b, fmt.Sprint(i)))
			}
			for range runs {
				<-g.begun
			}
			c.begin(server)
			for range runs / 2 { // early: in the longest, for longer than the client of the scripts tries by itself
				g.release <- struct{}{}
			}
			time.Sleep(c.outage) // nothing can tell its end but time
			c.end(server)
			time.Sleep(lease + lease/2) // in which a sweeper that takes live workers for dead would ring again
			for range runs / 2 {
				g.release <- struct{}{}
			}
			for _, run := range all {
				if s := f.wait(run); s.Outcome != executor.OutcomeOK {
					t.Errorf("%s: %v by %v", run, s.Outcome, s.Marker.Cause)
				}
			}
			if g.total() != 3*runs {
				t.Errorf("%d calls for %d runs of three steps; %d of the held step", g.total(), runs, g.count("held"))
			}
			f.quiet()
		})
	}
}

// quiet fails the test unless outbox, claims and visits of the default queue become empty.
func (f *fleet) quiet() {
	f.t.Helper()
	ctx := context.Background()
	deadline := time.Now().Add(patience)
	for {
		left := map[string]int64{}
		for _, set := range []string{"outbox", "claims", "due"} {
			n, err := f.rdb.ZCard(ctx, "fourfold:{default}:"+set).Result()
			if err != nil || n > 0 {
				left[set] = n
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("left behind: %v", left)
		}
		time.Sleep(50 * time.Millisecond) // polls; the deadline alone fails the test
	}
}

func TestAFlushEndsItsRunsAndNothingElse(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := newFleet(t, server.Client(t))
	g := newGated()
	f.worker(g.model, func(cfg *tasks.WorkerConfig) { cfg.Lease = 3 * time.Second })
	b := bundle(t, heldSteps())
	const runs = 5
	waited := make(chan error, runs)
	for i := range runs {
		run := f.submit(b, fmt.Sprint(i))
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, err := f.client.Wait(ctx, run, tasks.NoValues)
			waited <- err
		}()
	}
	for range runs {
		<-g.begun
	}
	flushed(server)(t)
	for range runs {
		if err := <-waited; !errors.Is(err, tasks.ErrNotFound) {
			t.Errorf("a waiting producer got %v", err)
		}
	}
	next := f.submit(b, `"next"`)
	<-g.begun
	for range runs + 1 { // those of the flushed runs are gone, or are answered and find nothing
		g.release <- struct{}{}
	}
	if s := f.wait(next); s.Outcome != executor.OutcomeOK {
		t.Errorf("the next run: %v", s.Outcome)
	}
	if g.count("after") != 1 {
		t.Errorf("%d steps ran after the flush; want the next run's one", g.count("after"))
	}
	f.quiet()
}

func TestWithoutMemorySubmitsFailAndWorkInFlightIsKept(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second
	server := redistest.Start(t)
	f := newFleet(t, server.Client(t))
	g := newGated()
	f.worker(g.model, func(cfg *tasks.WorkerConfig) { cfg.Lease = lease })
	f.worker(g.model, func(cfg *tasks.WorkerConfig) { cfg.Lease = lease })
	b := bundle(t, heldSteps())
	const runs = 4
	var all []tasks.RunID
	for i := range runs {
		all = append(all, f.submit(b, fmt.Sprint(i)))
	}
	for range runs {
		<-g.begun
	}
	memory := func(bytes string) {
		t.Helper()
		if err := server.Admin(t).ConfigSet(context.Background(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	memory("1")
	_, err := f.client.Submit(context.Background(), tasks.Submission{Bundle: b, Input: content.New(json.RawMessage(`"more"`))})
	if !redis.HasErrorPrefix(err, "OOM") {
		t.Errorf("a submit without memory: %v", err)
	}
	for range runs / 2 {
		g.release <- struct{}{}
	}
	time.Sleep(2 * lease) // claims that could not be extended would be over
	memory("0")
	time.Sleep(2 * lease) // and would be redriven
	for range runs / 2 {
		g.release <- struct{}{}
	}
	for _, run := range all {
		if s := f.wait(run); s.Outcome != executor.OutcomeOK {
			t.Errorf("%s: %v by %v", run, s.Outcome, s.Marker.Cause)
		}
	}
	if g.total() != 3*runs {
		t.Errorf("%d calls for %d runs of three steps", g.total(), runs)
	}
	f.quiet()
}

func TestForgottenScriptsAreSentAgainUnderLoad(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := newFleet(t, server.Client(t))
	m := newModel(fine)
	f.worker(m, nil)
	f.worker(m, nil)
	over := make(chan struct{})
	var forgetting sync.WaitGroup
	forgetting.Go(func() {
		admin := server.Admin(t)
		for {
			select {
			case <-over:
				return
			default:
			}
			if err := admin.ScriptFlush(context.Background()).Err(); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(2 * time.Millisecond) // lets the others have a turn
		}
	})
	b := bundle(t, threeSteps(""))
	const runs = 60
	var all []tasks.RunID
	for i := range runs {
		all = append(all, f.submit(b, fmt.Sprint(i)))
	}
	for _, run := range all {
		if s := f.wait(run); s.Outcome != executor.OutcomeOK {
			t.Errorf("%s: %v", run, s.Outcome)
		}
	}
	close(over)
	forgetting.Wait()
	if m.total() != 3*runs {
		t.Errorf("%d calls for %d runs of three steps", m.total(), runs)
	}
	f.quiet()
}

// A failover may lose the last writes, and with them what was recorded; no run is lost that the replica knew, and each
// ends as it must.
func TestAFailoverLosesNoRun(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	f := newFleet(t, s.Client(t))
	g := newGated()
	f.worker(g.model, func(cfg *tasks.WorkerConfig) { cfg.Redis, cfg.Lease = s.Client(t), 4*time.Second })
	f.worker(g.model, func(cfg *tasks.WorkerConfig) { cfg.Redis, cfg.Lease = s.Client(t), 4*time.Second })
	b := bundle(t, heldSteps())
	const runs = 20
	var all []tasks.RunID
	for i := range runs {
		all = append(all, f.submit(b, fmt.Sprint(i)))
	}
	for range 8 {
		<-g.begun
	}
	s.Failover(t)
	close(g.release) // all answer from now on
	for _, run := range all {
		if s := f.wait(run); s.Outcome != executor.OutcomeOK {
			t.Errorf("%s: %v by %v", run, s.Outcome, s.Marker.Cause)
		}
	}
	f.quiet()
}
