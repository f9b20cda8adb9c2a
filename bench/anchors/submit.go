package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
)

// submit compares producers. No worker runs.
func submit(s *session) error {
	n := size(s, 60_000, 10_000)
	for turn := range s.rounds * s.closely() {
		for _, who := range []struct {
			label, system string
			run           job.Run
			often         int
		}{
			{ours + ", one step", job.Fourfold, job.Run{Queue: queue, Shape: job.Chain, Steps: 1}, s.closely()},
			{"asynq", job.Asynq, job.Run{Queue: queue, Steps: 1}, s.closely()},
			{ours + ", three steps", job.Fourfold, three, 1},
		} {
			if turn >= s.rounds*who.often {
				continue
			}
			if err := s.submitOne(who.label, who.system, n, who.run); err != nil {
				return err
			}
		}
	}
	batch, err := s.buildEnqueue()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(batch)) }() // the system clears what is left
	for range s.rounds {
		if err := s.batch(batch, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) submitOne(label, system string, n int, run job.Run) error {
	return withRedis(func(addr string, rdb *redis.Client) error {
		since, err := resetUsage(s.ctx, rdb)
		if err != nil {
			return err
		}
		took, err := submitted(s.ctx, s.spec(system, addr), n, same(run))
		if err != nil {
			return err
		}
		u, err := readUsage(s.ctx, rdb, since)
		if err != nil {
			return err
		}
		s.figures.add("submit", label, "submitted from 16 goroutines", "/s", float64(n)/took.Seconds())
		s.figures.add("submit", label, "Redis time in scripts each", "µs", u.scriptMicros/float64(n))
		s.figures.add("submit", label, "Redis CPU each", "µs", u.cpu/float64(n))
		return nil
	})
}

func (s *session) buildEnqueue() (string, error) {
	dir, err := os.MkdirTemp("", "anchors")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "enqueue")
	cmd := exec.CommandContext(s.ctx, "go", "build", "-o", file, "./cmd/enqueue")
	cmd.Dir = s.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
}

// batch measures the command line as a user starts it, its start included.
func (s *session) batch(enqueue string, n int) error {
	dir := filepath.Dir(enqueue)
	inputs, flow := filepath.Join(dir, "inputs.jsonl"), filepath.Join(dir, "flow.yaml")
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, "{\"n\":%d}\n", i)
	}
	if err := os.WriteFile(inputs, []byte(lines.String()), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(flow, []byte("flow: one\nsteps:\n  - id: only\n    handler: step\n"), 0o600); err != nil {
		return err
	}
	return withRedis(func(addr string, _ *redis.Client) error {
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, enqueue, "batch", flow, "--inputs", inputs, "--redis", "redis://"+addr+"/0", "--json")
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("enqueue batch: %w\n%s", err, out[:min(len(out), 1000)])
		}
		s.figures.add("submit", "enqueue batch", "lines", "/s", float64(n)/time.Since(start).Seconds())
		return nil
	})
}
