package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
	"fourfold/cmd/internal/version"
)

type grammar struct {
	Run     runCommand     `cmd:"" default:"withargs" help:"Work on the queues until SIGTERM; the default."`
	Demo    demoCommand    `cmd:"" help:"See all of it in one process: a Redis and providers of its own, a flow over sample documents."`
	Check   checkCommand   `cmd:"" help:"Look at configuration, Redis and providers, and say what is wrong."`
	Version versionCommand `cmd:"" help:"Show the version."`
}

func main() {
	os.Exit(run(context.Background(), os.Args[1:], cli.Standard()))
}

func run(ctx context.Context, args []string, streams cli.Streams) int {
	p := cli.Program{
		Name:        "worker",
		Description: "The process of the fleet: takes LLM steps from a Redis queue and says how each of them ended.\n\nEvery flag can also be given as a FOURFOLD_… variable; flags stand above the configuration file.",
		Grammar:     &grammar{},
		Vars:        map[string]string{"default_model": config.DefaultModel},
		Streams:     streams,
	}
	return p.Run(ctx, args)
}

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c versionCommand) Run(s cli.Streams) error {
	if c.JSON {
		return printJSON(s, map[string]string{"version": version.String()})
	}
	fmt.Fprintf(s.Out, "worker %s\n", version.String())
	return nil
}

func printJSON(s cli.Streams, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s\n", data)
	return err
}
