// Command producer shows how a Go service uses the fleet: it submits a run, waits for it, and looks at how it ended.
//
//	go run ./examples/producer -name Ada
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks"
)

func main() {
	url := flag.String("redis", "redis://127.0.0.1:6379/0", "where Redis is")
	path := flag.String("flows", "examples/hello", "folder of the flow")
	name := flag.String("name", "Ada", "whom to greet")
	flag.Parse()
	if err := greet(context.Background(), os.Stdout, *url, *path, *name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func greet(ctx context.Context, out io.Writer, url, folder, name string) error {
	options, err := redis.ParseURL(url)
	if err != nil {
		return errors.New("the Redis URL cannot be understood")
	}
	rdb := redis.NewClient(options)
	defer rdb.Close()
	client, err := tasks.NewClient(tasks.ClientConfig{Redis: rdb})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()

	// The bundle is the flow with its prompts and schemas; a service loads it once and submits it many times.
	bundle, err := flow.Load(os.DirFS(folder), "flow.yaml")
	if err != nil {
		return err
	}
	input, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return err
	}
	run, err := client.Submit(ctx, tasks.Submission{
		Bundle: bundle,
		Input:  content.New(json.RawMessage(input)),
		Key:    "greet-" + name, // submitting twice is one run, also after a crash of this program
	})
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	status, err := client.Wait(waiting, run, tasks.SinkValues)
	if err != nil {
		return err
	}

	// The outcome comes first: a result that rests on a degraded step is not a clean one.
	switch status.Outcome {
	case executor.OutcomeOK, executor.OutcomeAbstained:
		fmt.Fprintf(out, "%s\n", status.Values[executor.MustStepID("greet")].Reveal())
	case executor.OutcomeDegraded:
		fmt.Fprintf(out, "with a grain of salt (%s, %s): %s\n", status.Marker.Step, status.Marker.Cause,
			status.Values[executor.MustStepID("greet")].Reveal())
	case executor.OutcomeFailed:
		fmt.Fprintf(out, "no greeting: %s failed, %s\n", status.Marker.Step, status.Marker.Cause)
	}
	return nil
}
