package tasks

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/provider"
	"fourfold/telemetry"
)

// A queue's gauges come from one worker of the fleet at any time; when it dies, its lock dies after it, and the next report
// of another worker that comes then is the queue's.
func TestTheReporterMovesWhenItsWorkerDies(t *testing.T) {
	server := miniredis.RunT(t) // outside of the bubble, whose clock stands still while a command is answered
	synctest.Test(t, func(t *testing.T) {
		redisTime(t, server)
		reports := &reportLog{begin: time.Now()}
		killFirst := reports.worker(t, "first", server)
		time.Sleep(3 * time.Second) // the first has taken the lock by then; they report out of step
		reports.worker(t, "second", server)
		time.Sleep(3 * time.Second)
		reports.worker(t, "third", server)

		time.Sleep(time.Minute + 500*time.Millisecond - 6*time.Second) // just after a report
		if diff := cmp.Diff([]string{"first", "first", "first", "first", "first", "first"}, reports.names()); diff != "" {
			t.Fatalf("reports of a minute in which nobody died (-want +got):\n%s", diff)
		}
		last := reports.last()
		killFirst()
		died := time.Since(reports.begin)
		time.Sleep(time.Minute)

		after := reports.since(died)
		if len(after) < 5 {
			t.Fatalf("in the minute after the death there were reports %v", after)
		}
		if gap := after[0].at - died; gap > sweepHold+reportEvery {
			t.Errorf("nobody reported for %s after the death: longer than the lock's %s and the time between two reports", gap, sweepHold)
		}
		if early := after[0].at - last.at; early < sweepHold {
			t.Errorf("%s reported %s after the dead worker: it did not wait for the lock to end", after[0].worker, early)
		}
		for i, r := range after {
			if r.worker != after[0].worker {
				t.Errorf("%s reported beside %s", r.worker, after[0].worker)
			}
			if i > 0 && r.at-after[i-1].at != reportEvery {
				t.Errorf("%s between two reports, want %s", r.at-after[i-1].at, reportEvery)
			}
		}
	})
}

// reportLog is who told of the queue, and when.
type reportLog struct {
	begin time.Time
	mu    sync.Mutex
	all   []queueReport
}

type queueReport struct {
	worker string
	at     time.Duration
}

func (l *reportLog) since(d time.Duration) []queueReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, r := range l.all {
		if r.at > d {
			return l.all[i:]
		}
	}
	return nil
}

func (l *reportLog) last() queueReport {
	all := l.since(-1)
	return all[len(all)-1]
}

func (l *reportLog) names() (names []string) {
	for _, r := range l.since(-1) {
		names = append(names, r.worker)
	}
	return names
}

// worker starts what a worker reports and sweeps with. kill ends it as a lost host does: nothing is given up.
func (l *reportLog) worker(t *testing.T, name string, server *miniredis.Miniredis) (kill func()) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	w, err := NewWorker(WorkerConfig{
		Redis: rdb, Queues: map[string]int{DefaultQueue: 1}, Observer: reporterAs{telemetry.Discard, name, l},
		Chains: map[string]*provider.Chain{},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var helpers sync.WaitGroup
	helpers.Go(func() { w.sweeper.run(ctx) })
	helpers.Go(func() { w.report(ctx) })
	kill = sync.OnceFunc(func() {
		cancel()
		helpers.Wait()
		_ = w.scripts.Close()
		_ = rdb.Close()
		w.stop()
	})
	t.Cleanup(kill)
	return kill
}

type reporterAs struct {
	telemetry.Observer
	name string
	log  *reportLog
}

func (r reporterAs) QueueSizes(telemetry.QueueSizes) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	r.log.all = append(r.log.all, queueReport{r.name, time.Since(r.log.begin)})
}

// redisTime lets keys expire by the bubble's clock: miniredis has none of its own for that.
func redisTime(t *testing.T, server *miniredis.Miniredis) {
	t.Helper()
	const tick = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause(ctx, tick) {
			server.FastForward(tick)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}
