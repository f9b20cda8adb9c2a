package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
	"fourfold/tasks"
)

// session is one command's connection.
type session struct {
	client  *tasks.Client
	rdb     redis.UniversalClient
	streams cli.Streams
	json    bool
	named   bool // the run's id stands on the screen already
}

// open connects, and says clearly when Redis is not there. The caller closes the session.
func (g *globals) open(ctx context.Context, s cli.Streams) (*session, error) {
	file, err := config.Load(g.Config)
	if err != nil {
		return nil, err
	}
	if err := file.FinishRedis(g.Redis); err != nil {
		return nil, err
	}
	redis.SetLogger(silent{}) // what matters comes back as an error
	rdb, err := file.Redis.Client(config.ForCommand, 256, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	reach, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := rdb.Ping(reach).Err(); err != nil {
		_ = rdb.Close()
		return nil, fmt.Errorf("no answer from Redis at %s: %w", file.Redis.Place(), err)
	}
	client, err := tasks.NewClient(tasks.ClientConfig{Redis: rdb, Retention: file.Retention.Std()})
	if err != nil {
		_ = rdb.Close()
		return nil, err
	}
	return &session{client: client, rdb: rdb, streams: s, json: g.JSON}, nil
}

func (s *session) close() {
	_ = s.client.Close()
	_ = s.rdb.Close()
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// runArg is the argument of a command about one run.
type runArg struct {
	ID string `arg:"" name:"run" help:"The run."`
}

// open reads the run's id, and opens a session, which must be closed.
func (a runArg) open(ctx context.Context, g *globals, streams cli.Streams) (*session, tasks.RunID, error) {
	run, err := parseRun(a.ID)
	if err != nil {
		return nil, run, err
	}
	s, err := g.open(ctx, streams)
	return s, run, err
}

// parseRun reads a run's id; a wrong one is wrong usage.
func parseRun(s string) (tasks.RunID, error) {
	id, err := tasks.ParseRunID(s)
	if err != nil {
		return id, cli.Usagef("%s", cli.Text(err))
	}
	return id, nil
}

// about puts the run's name before an error that does not say it.
func about(run tasks.RunID, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tasks.ErrNotFound):
		return fmt.Errorf("run %s is not there: never submitted, or its retention is over", run)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted; the run goes on: enqueue wait %s", run)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("run %s is still open", run)
	}
	return fmt.Errorf("run %s: %w", run, err)
}
