//nolint:forbidigo // this is a command: it reads the environment, prints and ends the process
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"fourfold/deploy/datadog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	only := flag.Bool("print", false, "print what would be installed and do nothing")
	flag.Parse()
	env := os.Getenv("DD_ENV")
	if env == "" {
		env = "prod"
	}
	if *only {
		return printAll(env)
	}
	api, err := datadog.NewAPI(os.Getenv("DD_SITE"), os.Getenv("DD_API_KEY"), os.Getenv("DD_APP_KEY"))
	if err != nil {
		return err
	}
	installer := datadog.Installer{
		API: api, Env: env, Runbooks: os.Getenv("FOURFOLD_RUNBOOKS"), Notify: os.Getenv("FOURFOLD_NOTIFY"), Out: os.Stdout,
	}
	return installer.Install(ctx)
}

func printAll(env string) error {
	all, err := datadog.Definitions(env)
	if err != nil {
		return err
	}
	for _, d := range all {
		var line bytes.Buffer
		if err := json.Compact(&line, d.JSON); err != nil {
			return err
		}
		fmt.Println(line.String())
	}
	return nil
}
