package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/version"
)

// grammar is the whole command line.
type grammar struct {
	globals

	Run     runCommand     `cmd:"" help:"Submit one run of a flow."`
	Batch   batchCommand   `cmd:"" help:"Submit a run for each line of a file; resumes where it was interrupted."`
	Status  statusCommand  `cmd:"" help:"Show how a run stands."`
	Watch   watchCommand   `cmd:"" help:"Follow a run until it is done."`
	Wait    waitCommand    `cmd:"" help:"Wait until a run is done, then show it."`
	Cancel  cancelCommand  `cmd:"" help:"End every open step of a run."`
	Rerun   rerunCommand   `cmd:"" help:"Run again what has no value; what has one is kept and not paid for twice."`
	List    listCommand    `cmd:"" help:"List runs."`
	Check   checkCommand   `cmd:"" help:"Check a flow and every file it names; nothing is queued."`
	Queues  queuesCommand  `cmd:"" help:"Show the queues."`
	Pause   pauseCommand   `cmd:"" help:"Let workers take nothing more from a queue."`
	Resume  resumeCommand  `cmd:"" help:"End the pause of a queue."`
	Discard discardCommand `cmd:"" help:"Empty the archive of a queue: tasks that could not be handled."`
	Version versionCommand `cmd:"" help:"Show the version."`
}

type globals struct {
	Redis  string `placeholder:"URL" env:"FOURFOLD_REDIS,FOURFOLD_REDIS_URL" help:"Where Redis is: redis://, rediss:// or unix://; default redis://127.0.0.1:6379/0."`
	Config string `placeholder:"FILE" type:"path" help:"A worker.yaml: its redis block says where Redis is, and check also looks at its chains."`
	JSON   bool   `name:"json" help:"Print JSON on standard output: one document, or one a line for batches."`
}

func main() {
	ctx, stop := cli.Interruptible(context.Background())
	status := run(continued(ctx, os.Getenv("TRACEPARENT")), os.Args[1:], cli.Standard())
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, streams cli.Streams) int {
	g := &grammar{}
	p := cli.Program{
		Name:        "enqueue",
		Description: "Submit runs to the fleet, follow them, and see how they ended.\n\nExit status: 0 OK, ABSTAINED or still open; 3 DEGRADED; 4 FAILED; 1 an error of its own; 2 wrong usage. Every flag can also be given as a FOURFOLD_… variable. Runs belong to the trace that TRACEPARENT names (W3C), if it is set.",
		Grammar:     g,
		Streams:     streams,
		Bind:        []any{&g.globals},
	}
	return p.Run(ctx, args)
}

type versionCommand struct{}

func (versionCommand) Run(g *globals, s cli.Streams) error {
	if g.JSON {
		return printJSON(s, map[string]string{"version": version.String()})
	}
	fmt.Fprintf(s.Out, "enqueue %s\n", version.String())
	return nil
}

// printJSON writes one document on one line.
func printJSON(s cli.Streams, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s\n", data)
	return err
}
