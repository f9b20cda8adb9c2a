package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fourfold/internal/redistest"
	"fourfold/provider"
	"fourfold/provider/simulated"
	"fourfold/tasks"
)

// work runs a worker whose model does what the script says, until the test ends.
func work(t *testing.T, rs *redistest.Server, script simulated.Script) {
	t.Helper()
	model, err := simulated.New(simulated.Config{Name: provider.MustName("primary"), Script: script})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := tasks.NewWorker(tasks.WorkerConfig{
		Redis: rs.Client(t), Queues: map[string]int{"default": 1}, Drain: time.Second,
		Chains: map[string]*provider.Chain{"default": provider.NewChain(model)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestTheExampleGreets(t *testing.T) {
	rs := redistest.Start(t)
	work(t, rs, simulated.Script{Rules: []simulated.Rule{{Step: "greet", Calls: []simulated.Behaviour{{Text: new("simulated: Hello Ada")}}}}})
	var out bytes.Buffer
	if err := greet(t.Context(), &out, rs.URL(), "../hello", "Ada"); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "\"simulated: Hello Ada\"\n" {
		t.Errorf("%q", got)
	}
}

func TestTheExampleSaysWhatFailed(t *testing.T) {
	rs := redistest.Start(t)
	work(t, rs, simulated.Script{Rules: []simulated.Rule{{Calls: []simulated.Behaviour{{Do: simulated.Refuse}}}}})
	var out bytes.Buffer
	if err := greet(t.Context(), &out, rs.URL(), "../hello", "Ada"); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "no greeting: greet failed, schema\n" {
		t.Errorf("%q", got)
	}
}

func TestTheExampleEndsWithItsContext(t *testing.T) {
	rs := redistest.Start(t) // and nobody works
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err := greet(ctx, &bytes.Buffer{}, rs.URL(), "../hello", "Ada")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := greet(t.Context(), &bytes.Buffer{}, "gopher://secret", "../hello", "Ada"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}
