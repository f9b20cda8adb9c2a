package job

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/redis/go-redis/v9"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks"
	"fourfold/telemetry"
)

// fourfold is the product, whole: outcomes, markers, checkpoints, claims, and metrics where Spec.Statsd names a receiver.
type fourfold struct{}

type fourfoldProducer struct {
	rdb    redis.UniversalClient
	client *tasks.Client

	mu      sync.Mutex
	bundles map[Run]*flow.Bundle
	inputs  map[int]content.Of[json.RawMessage]
}

func (fourfold) Producer(s Spec, t *Tally) (Producer, error) {
	rdb := connect(s, t, 0)
	client, err := tasks.NewClient(tasks.ClientConfig{Redis: rdb})
	if err != nil {
		return nil, err
	}
	return &fourfoldProducer{rdb: rdb, client: client, bundles: map[Run]*flow.Bundle{}, inputs: map[int]content.Of[json.RawMessage]{}}, nil
}

func (p *fourfoldProducer) Submit(ctx context.Context, r Run) error {
	_, err := p.submit(ctx, r)
	return err
}

func (p *fourfoldProducer) submit(ctx context.Context, r Run) (tasks.RunID, error) {
	bundle, input, err := p.materials(r)
	if err != nil {
		return tasks.RunID{}, err
	}
	return p.client.Submit(ctx, tasks.Submission{Bundle: bundle, Input: input, Queue: r.Queue})
}

// SubmitAndWait returns when the run is done and its status is at hand.
func (p *fourfoldProducer) SubmitAndWait(ctx context.Context, r Run) error {
	id, err := p.submit(ctx, r)
	if err != nil {
		return err
	}
	_, err = p.client.Wait(ctx, id, tasks.NoValues)
	return err
}

func (p *fourfoldProducer) Close() {
	_ = p.client.Close()
	p.rdb.Close()
}

// materials makes each bundle and input once.
func (p *fourfoldProducer) materials(r Run) (*flow.Bundle, content.Of[json.RawMessage], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	input, ok := p.inputs[r.Input]
	if r.Shape == Items {
		list := strings.TrimSuffix(strings.Repeat("1,", r.Steps), ",")
		input = content.New(json.RawMessage("[" + list + "]"))
	} else if !ok {
		input = content.New(valueOf(r.Input))
		p.inputs[r.Input] = input
	}
	key := Run{Shape: r.Shape, Steps: r.Steps}
	if b := p.bundles[key]; b != nil {
		return b, input, nil
	}
	b, err := flow.Load(fstest.MapFS{"flow.yaml": {Data: []byte(flowOf(r))}}, "flow.yaml")
	if err != nil {
		return nil, input, err
	}
	p.bundles[key] = b
	return b, input, nil
}

// valueOf is a JSON value of about n bytes.
func valueOf(n int) json.RawMessage {
	if n < 3 {
		return json.RawMessage("1")
	}
	return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`)
}

// flowOf writes the flow of a run's shape.
func flowOf(r Run) string {
	const more = "    handler: step\n    budget: {attempts: 1, per_attempt: 30m, total: 31m}\n"
	var b strings.Builder
	fmt.Fprintf(&b, "flow: %s-%d\nsteps:\n", r.Shape, r.Steps)
	step := func(i int, needs string) {
		fmt.Fprintf(&b, "  - id: s%d\n%s", i, more)
		if needs != "" {
			fmt.Fprintf(&b, "    needs: [%s]\n", needs)
		}
	}
	switch r.Shape {
	case Items:
		step(0, "")
		b.WriteString("    for_each: input\n")
	case Fan:
		step(0, "")
		var middle []string
		for i := 1; i < r.Steps-1; i++ {
			step(i, "s0")
			middle = append(middle, fmt.Sprint("s", i))
		}
		step(r.Steps-1, strings.Join(middle, ", "))
	default:
		step(0, "")
		for i := 1; i < r.Steps; i++ {
			step(i, fmt.Sprint("s", i-1))
		}
	}
	return b.String()
}

func (fourfold) Work(ctx context.Context, s Spec, t *Tally, ready func()) error {
	observer, end, err := observe(s, t)
	if err != nil {
		return err
	}
	defer end()
	queues := map[string]int{}
	for _, q := range s.Queues {
		queues[q] = 1
	}
	value := valueOf(s.Value)
	handler := func(ctx context.Context, _ flow.Inputs) (executor.Reply[json.RawMessage], error) {
		if err := t.work(ctx); err != nil {
			return executor.Reply[json.RawMessage]{}, err
		}
		return executor.Reply[json.RawMessage]{Value: value}, nil
	}
	var all sync.WaitGroup
	failed := make(chan error, max(1, s.Workers))
	for range max(1, s.Workers) {
		rdb := connect(s, t, 0)
		defer rdb.Close()
		w, err := tasks.NewWorker(tasks.WorkerConfig{
			Redis: rdb, Queues: queues, Concurrency: s.Slots, Observer: observer, Handlers: map[string]tasks.Handler{"step": handler}, Drain: 1,
		})
		if err != nil {
			return err
		}
		all.Go(func() { failed <- w.Run(ctx) })
	}
	ready()
	all.Wait()
	return <-failed
}

// observe is what a worker tells: to the tally, and to a sink as in production.
func observe(s Spec, t *Tally) (observer telemetry.Observer, end func(), err error) {
	level := "error"
	if s.Log {
		level = "info"
	}
	log, err := telemetry.NewLogger(io.Discard, level, "json")
	if err != nil {
		return nil, nil, err
	}
	sink, err := telemetry.New(telemetry.Config{Statsd: s.Statsd, Log: log})
	if err != nil {
		log.Close()
		return nil, nil, err
	}
	return &witness{sink, t}, func() { sink.Close(); log.Close() }, nil
}

// witness tells the tally what it needs to know.
type witness struct {
	telemetry.Observer
	tally *Tally
}

func (w *witness) RunFinished(ctx context.Context, e telemetry.RunFinished) {
	w.Observer.RunFinished(ctx, e)
	w.tally.finish()
}

func (w *witness) StepDuplicate(ctx context.Context, flow string, step executor.StepID) {
	w.tally.duplicates.Add(1)
	w.Observer.StepDuplicate(ctx, flow, step)
}

func (w *witness) Swept(queue, found string, n int) {
	w.tally.swept.Add(int64(n))
	w.Observer.Swept(queue, found, n)
}
