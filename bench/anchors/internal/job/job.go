package job

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Spec is a worker process. It travels as JSON.
type Spec struct {
	System   string
	Redis    []string // addresses; more than one are a cluster
	Postgres string   // connection string, for systems that need it
	Statsd   string   // UDP address; empty: no metrics
	Queues   []string
	Slots    int           // steps at a time, in each of Workers
	Workers  int           // in the process; zero: 1
	Servers  int           // of asynq alone: its servers, which share Slots; zero: 4
	Poll     time.Duration // of asynq and River: how often they look; zero: their default
	Woken    bool          // of asynq alone, with one queue: it waits for tasks and does not poll
	Step     time.Duration // how long a step takes
	Spread   bool          // steps take between half of Step and one and a half, so that they do not end in waves
	Value    int           // bytes of a step's value; zero: the number 1
	Marks    []int64       // of finished runs: the times at which there were so many are told
	Announce int64         // the times of each so many finished runs are told; zero: none
	Log      bool          // a log line for each finished step, thrown away when written
	Procs    int           // GOMAXPROCS; zero: as the environment says
}

// Run is what a producer submits.
type Run struct {
	Queue string
	Shape Shape
	Steps int // in all; of Items: how many items
	Input int // bytes; zero: the number 1
}

// Shape is how the steps of a run hang together.
type Shape string

// The shapes. Systems other than Fourfold know Chain alone, and for Loose each step is a run.
const (
	Chain Shape = "chain" // each step needs the one before
	Fan   Shape = "fan"   // one step, then all but two side by side, then one that needs these
	Items Shape = "items" // one for_each step over a list
)

// Producer submits runs. It is for many goroutines.
type Producer interface {
	Submit(context.Context, Run) error
	Close()
}

// System is one way to do the job.
type System interface {
	// Producer connects to the Redis, or the database, of s. Its round trips are counted in t, which may be nil.
	Producer(s Spec, t *Tally) (Producer, error)
	// Work works until ctx ends; ready is called when the workers have been started.
	Work(ctx context.Context, s Spec, t *Tally, ready func()) error
}

// Systems by name. The names are those of Spec.System.
var Systems = map[string]System{
	Fourfold: fourfold{}, Asynq: bareAsynq{}, Workflows: workflows{}, BullMQ: bullMQ{}, River: riverQueue{},
}

// The names of the systems.
const (
	Fourfold  = "fourfold"
	Asynq     = "asynq"
	Workflows = "go-workflows"
	BullMQ    = "bullmq"
	River     = "river"
)

// SubmitAll submits n runs from so many goroutines, and returns how long that took.
func SubmitAll(ctx context.Context, p Producer, n, goroutines int, run func(i int) Run) (time.Duration, error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	start := time.Now()
	for range goroutines {
		wg.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := p.Submit(ctx, run(i)); err != nil {
					err = fmt.Errorf("submit: %w", err)
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return took, nil
}
