package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
)

// bytesPerRun measures Redis' memory: open runs as a producer leaves them, and the same runs when they have finished. The
// values are of one byte, so that what is left is what a run costs by itself.
func bytesPerRun(s *session) error {
	for _, steps := range []int{1, 3, 16, 256} {
		if err := s.bytesOf(steps); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) bytesOf(steps int) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	runs := max(60, size(s, 30_000, 6_000)/steps)
	label := fmt.Sprintf("%d steps", steps)
	if steps == 1 {
		label = "1 step"
	}
	return withRedis(func(addr string, rdb *redis.Client) error {
		spec := s.spec(job.Fourfold, addr)
		spec.Slots, spec.Marks = slots, []int64{int64(runs)}
		run := job.Run{Queue: queue, Shape: job.Chain, Steps: steps}
		// Scripts, the bundle and what asynq keeps of a queue are there before.
		if _, err := submitted(ctx, spec, 1, same(run)); err != nil {
			return err
		}
		first := spec
		first.Marks = []int64{1}
		if err := workOff(ctx, first); err != nil {
			return err
		}
		before, err := usedMemory(ctx, rdb)
		if err != nil {
			return err
		}
		if _, err := submitted(ctx, spec, runs, same(run)); err != nil {
			return err
		}
		open, err := usedMemory(ctx, rdb)
		if err != nil {
			return err
		}
		each := float64(runs)
		s.figures.add("bytes", label, "an open run, in all", "B", (open-before)/each)
		if err := s.tellKeys(ctx, rdb, label, "open", steps); err != nil {
			return err
		}
		if err := workOff(ctx, spec); err != nil {
			return err
		}
		done, err := usedMemory(ctx, rdb)
		if err != nil {
			return err
		}
		s.figures.add("bytes", label, "a finished run, in all", "B", (done-before)/each)
		return s.tellKeys(ctx, rdb, label, "finished", steps)
	})
}

// workOff runs a worker until it has finished what the last mark says, and ends it.
func workOff(ctx context.Context, spec job.Spec) error {
	w, err := job.Start(ctx, spec)
	if err != nil {
		return err
	}
	defer w.Stop()
	_, err = w.Mark(ctx, len(spec.Marks)-1)
	return err
}

// kinds are the keys of a run, by their patterns.
var kinds = map[string]string{
	"state": "fourfold:{" + queue + "}:run:*", "values": "fourfold:{" + queue + "}:val:*", "task in asynq": "asynq:{" + queue + "}:t:*",
}

// tellKeys asks Redis how large some keys of each kind are.
func (s *session) tellKeys(ctx context.Context, rdb *redis.Client, label, when string, steps int) error {
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		names, err := some(ctx, rdb, kinds[kind], 200)
		if err != nil {
			return err
		}
		var sizes []float64
		encodings := map[string]bool{}
		for _, key := range names {
			n, err := rdb.MemoryUsage(ctx, key, 0).Result()
			if err != nil {
				return err
			}
			sizes = append(sizes, float64(n))
			encoding, err := rdb.ObjectEncoding(ctx, key).Result()
			if err != nil {
				return err
			}
			encodings[encoding] = true
		}
		if len(sizes) == 0 {
			continue
		}
		words := strings.Join(slices.Sorted(maps.Keys(encodings)), ", ")
		s.figures.add("bytes", label, fmt.Sprintf("%s, %s (%s)", kind, when, words), "B", median(sizes))
		if kind == "state" {
			s.figures.add("bytes", label, fmt.Sprintf("state a step, %s", when), "B", median(sizes)/float64(steps))
		}
	}
	return nil
}

func some(ctx context.Context, rdb *redis.Client, pattern string, n int) ([]string, error) {
	var names []string
	it := rdb.Scan(ctx, 0, pattern, 1000).Iterator()
	for len(names) < n && it.Next(ctx) {
		names = append(names, it.Val())
	}
	return names, it.Err()
}
