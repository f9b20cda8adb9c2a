package main

import (
	"context"
	"crypto/sha1" //nolint:gosec // the name that Redis gives to a script
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
)

// scripts measures what each script costs Redis, by its slow log with a threshold of nothing.
func (s *session) scripts(lua string) error {
	names, err := scriptNames(lua)
	if err != nil {
		return err
	}
	runs := size(s, 3_000, 500)
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	return withRedis(func(addr string, rdb *redis.Client) error {
		for name, value := range map[string]string{"slowlog-log-slower-than": "0", "slowlog-max-len": "1000000"} {
			if err := rdb.ConfigSet(ctx, name, value).Err(); err != nil {
				return err
			}
		}
		spec := s.spec(job.Fourfold, addr)
		spec.Slots = slots
		c := contender{label: "scripts", spec: spec, runs: runs, run: same(three)}
		if _, err := s.drainOn(ctx, c, rdb); err != nil {
			return err
		}
		log, err := rdb.SlowLogGet(ctx, -1).Result()
		if err != nil {
			return err
		}
		s.tellScripts(names, log, float64(runs*three.Steps))
		return nil
	})
}

func (s *session) tellScripts(names map[string]string, log []redis.SlowLog, steps float64) {
	took := map[string][]float64{}
	for _, e := range log {
		if len(e.Args) > 3 && strings.EqualFold(e.Args[0], "evalsha") {
			name := names[e.Args[1]]
			if name == "" {
				name = asynqScript(e.Args)
			}
			took[name] = append(took[name], float64(e.Duration.Microseconds()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(took)) {
		all := took[name]
		slices.Sort(all)
		sum := 0.0
		for _, v := range all {
			sum += v
		}
		s.figures.add("scripts", name, "calls a step", "", float64(len(all))/steps)
		s.figures.add("scripts", name, "median", "µs", median(all))
		s.figures.add("scripts", name, "99th of a hundred", "µs", quantile(all, 0.99))
		s.figures.add("scripts", name, "share a step", "µs", sum/steps)
	}
}

// scriptNames maps the SHA-1 by which Redis knows each of our scripts to its name. What they begin with is in files of its own.
func scriptNames(lua string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(lua, "*.lua"))
	if err != nil {
		return nil, err
	}
	heads := []string{""}
	for _, file := range []string{"prelude.lua", "answer.lua"} {
		head, err := os.ReadFile(filepath.Join(lua, file))
		if err != nil {
			return nil, err
		}
		heads = append(heads, string(head))
	}
	names := map[string]string{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".lua")
		for _, head := range heads {
			sum := sha1.Sum([]byte(head + string(body))) //nolint:gosec // see the import
			names[hex.EncodeToString(sum[:])] = name
		}
	}
	return names, nil
}

// createName is of our script with asynq's in it: its text is put together when a client is made.
const createName = "create, with asynq's enqueue in it"

// asynqScript tells asynq's scripts, and ours with one of them in it, apart by their keys.
func asynqScript(args []string) string {
	var kinds []string
	for _, arg := range args[3:] {
		if _, kind, ok := strings.Cut(arg, "}:"); ok && strings.HasPrefix(arg, "asynq:{") {
			kind, _, _ = strings.Cut(kind, ":")
			kinds = append(kinds, kind)
		}
	}
	switch words := strings.Join(kinds, " "); {
	case strings.HasPrefix(words, "pending paused active lease"):
		return "asynq: take"
	case strings.HasPrefix(words, "active lease t processed"):
		return "asynq: done"
	case strings.HasPrefix(words, "t pending"):
		return createName
	default:
		return fmt.Sprintf("asynq: other (%s)", words)
	}
}
