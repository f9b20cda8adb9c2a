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
	user, err := info(ctx, rdb, "cpu", "used_cpu_user_main_thread")
	if err != nil {
		return 0, err
	}
	system, err := info(ctx, rdb, "cpu", "used_cpu_sys_main_thread")
	return 1e6 * (user + system), err
}

// usedMemory is Redis' used_memory in bytes.
func usedMemory(ctx context.Context, rdb *redis.Client) (float64, error) {
	return info(ctx, rdb, "memory", "used_memory")
}

// info reads one number of a section of INFO.
func info(ctx context.Context, rdb *redis.Client, section, field string) (float64, error) {
	text, err := rdb.Info(ctx, section).Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			var v float64
			_, err := fmt.Sscan(rest, &v)
			return v, err
		}
	}
	return 0, fmt.Errorf("INFO %s has no %s", section, field)
}
