package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// usage is what Redis counted since its counters were reset.
type usage struct {
	scripts      float64 // calls of EVALSHA and EVAL
	scriptMicros float64
	cpu          float64 // µs of Redis' main thread, user and system: it does not grow when others take the core
	commands     map[string]command
}

type command struct{ calls, micros float64 }

// resetUsage begins a measurement, and returns the CPU time at its begin for readUsage.
func resetUsage(ctx context.Context, rdb *redis.Client) (since float64, err error) {
	if err := rdb.ConfigResetStat(ctx).Err(); err != nil {
		return 0, err
	}
	return redisCPU(ctx, rdb)
}

func readUsage(ctx context.Context, rdb *redis.Client, since float64) (usage, error) {
	u := usage{commands: map[string]command{}}
	text, err := rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		name, isCommand := strings.CutPrefix(name, "cmdstat_")
		if !isCommand {
			continue
		}
		var c command
		if _, err := fmt.Sscanf(rest, "calls=%g,usec=%g", &c.calls, &c.micros); err != nil {
			return u, fmt.Errorf("INFO commandstats: %w", err)
		}
		u.commands[name] = c
		if name == "evalsha" || name == "eval" {
			u.scripts += c.calls
			u.scriptMicros += c.micros
		}
	}
	u.cpu, err = redisCPU(ctx, rdb)
	u.cpu -= since
	return u, err
}

// redisCPU is what Redis' main thread has used since its start, in microseconds.
func redisCPU(ctx context.Context, rdb *redis.Client) (float64, error) {
	text, err := rdb.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user_main_thread" || name == "used_cpu_sys_main_thread" {
			var seconds float64
			if _, err := fmt.Sscan(rest, &seconds); err != nil {
				return 0, fmt.Errorf("INFO cpu: %w", err)
			}
			sum += 1e6 * seconds
		}
	}
	return sum, nil
}

// usedMemory is Redis' used_memory in bytes.
func usedMemory(ctx context.Context, rdb *redis.Client) (int64, error) {
	text, err := rdb.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "used_memory:"); ok {
			var n int64
			_, err := fmt.Sscan(rest, &n)
			return n, err
		}
	}
	return 0, fmt.Errorf("INFO memory has no used_memory")
}
