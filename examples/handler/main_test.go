package main

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/internal/redistest"
	"fourfold/tasks"
)

func TestTheExampleServesItsFlow(t *testing.T) {
	rs := redistest.Start(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- work(ctx, rs.URL()) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	bundle, err := flow.Load(os.DirFS("."), "flow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	client, err := tasks.NewClient(tasks.ClientConfig{Redis: rs.Client(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	run, err := client.Submit(t.Context(), tasks.Submission{Bundle: bundle, Input: content.New(json.RawMessage(`{"text": "how long is this"}`))})
	if err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	status, err := client.Wait(waiting, run, tasks.AllValues)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(status.Values[executor.MustStepID("count")].Reveal()); status.Outcome != executor.OutcomeOK || got != `{"words":4}` {
		t.Errorf("%s, count = %s", status.Outcome, got)
	}
}

func TestWhatIsNoDocumentIsAParseFailure(t *testing.T) {
	_, err := countWords(t.Context(), flow.Inputs{Input: content.New(json.RawMessage(`7`))})
	if f := executor.Classify(err); f.Class != executor.ClassParse || f.Retry != executor.RetryNo {
		t.Errorf("%+v", f)
	}
}
