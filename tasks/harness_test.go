package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/internal/redistest"
	"fourfold/provider"
	"fourfold/tasks"
	"fourfold/telemetry"
)

// model is a provider whose answers a test decides by step, and which counts its calls.
type model struct {
	mu     sync.Mutex
	calls  map[string]int
	answer func(ctx context.Context, step string, n int) (string, error)
	reply  func(prompt string) (string, error) // instead of answer, where the answer depends on the prompt
}

func newModel(answer func(ctx context.Context, step string, n int) (string, error)) *model {
	return &model{calls: map[string]int{}, answer: answer}
}

func (m *model) Name() provider.Name { return provider.MustName("stub") }
func (m *model) Capabilities() provider.Capabilities {
	return provider.CapabilitiesOf(provider.JSONSchema)
}

func (m *model) Complete(ctx context.Context, req provider.Request) (provider.Response, error) {
	m.mu.Lock()
	m.calls[req.Step.String()]++
	n := m.calls[req.Step.String()]
	m.mu.Unlock()
	var text string
	var err error
	if m.reply != nil {
		text, err = m.reply(req.Prompt.Reveal())
	} else {
		text, err = m.answer(ctx, req.Step.String(), n)
	}
	if err != nil {
		return provider.Response{}, err
	}
	return provider.Response{
		Text: content.New(text), Model: executor.ModelVersionOf("stub-1"), Usage: executor.Tokens(10, 5), Provider: m.Name(),
	}, nil
}

func (m *model) Stream(context.Context, provider.Request) iter.Seq2[provider.Chunk, error] {
	panic("never streamed")
}

func (m *model) count(step string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[step]
}

func (m *model) total() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, c := range m.calls {
		n += c
	}
	return n
}

// bundle loads a flow whose steps all have the prompt p.tmpl and the schema number.json.
func bundle(t testing.TB, yaml string) *flow.Bundle {
	t.Helper()
	b, err := flow.Load(fstest.MapFS{
		"flow.yaml":   {Data: []byte(yaml)},
		"p.tmpl":      {Data: []byte("Input: {{json .input}}")},
		"absent.tmpl": {Data: []byte("{{.input.absent}}")},
		"item.tmpl":   {Data: []byte("Item: {{json .item}}")},
		"number.json": {Data: []byte(`{"type":"number"}`)},
	}, "flow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// budget is what only a hang reaches.
const budget = "per_attempt: 60s, total: 110s"

func step(id, more string) string {
	return fmt.Sprintf("  - id: %s\n    prompt: p.tmpl\n    output: number.json\n    chain: default\n    budget: {attempts: 2, %s}\n%s", id, budget, more)
}

func sickness() error {
	return provider.Judge(provider.Signal{Provider: provider.MustName("stub"), Status: 503})
}

// fleet is workers and a producer over one Redis.
type fleet struct {
	t      testing.TB
	rdb    redis.UniversalClient // the workers'
	client *tasks.Client
}

func newFleet(t testing.TB, rdb redis.UniversalClient) *fleet { return newFleetOf(t, rdb, rdb) }

// newFleetOf is a fleet whose producer has a client, and perhaps rights, of its own.
func newFleetOf(t testing.TB, rdb, producer redis.UniversalClient) *fleet {
	t.Helper()
	client, err := tasks.NewClient(tasks.ClientConfig{Redis: producer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return &fleet{t, rdb, client}
}

func realFleet(t testing.TB) *fleet { return newFleet(t, redistest.Start(t).Client(t)) }

// worker starts a worker that ends with the test, or by stop.
func (f *fleet) worker(m *model, change func(*tasks.WorkerConfig)) (w *tasks.Worker, stop func()) {
	f.t.Helper()
	cfg := tasks.WorkerConfig{
		Redis: f.rdb, Queues: map[string]int{"default": 1}, Concurrency: 8, Drain: 2 * time.Second,
		Chains: map[string]*provider.Chain{"default": provider.NewChain(m)}, Observer: telemetry.Discard,
	}
	if change != nil {
		change(&cfg)
	}
	w, err := tasks.NewWorker(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			f.t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	f.t.Cleanup(stop)
	return w, stop
}

func (f *fleet) submit(b *flow.Bundle, input string) tasks.RunID {
	f.t.Helper()
	run, err := f.client.Submit(context.Background(), tasks.Submission{Bundle: b, Input: content.New(json.RawMessage(input))})
	if err != nil {
		f.t.Fatal(err)
	}
	return run
}

// patience bounds a test that would hang; it is no expectation of speed. Who breaks the code on purpose has less of it.
var patience = 5 * time.Minute

func (f *fleet) wait(run tasks.RunID) tasks.Status {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := f.client.Wait(ctx, run, tasks.AllValues)
	if err != nil {
		f.t.Fatalf("wait for %s: %v", run, err)
	}
	return s
}

func number(n int) content.Of[json.RawMessage] {
	return content.New(json.RawMessage(fmt.Sprint(n)))
}
