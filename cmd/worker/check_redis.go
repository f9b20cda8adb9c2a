package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// checkRedis looks at every master: does it answer, is it new enough, does it keep what it is given. Then it tries the
// rights; limits says whether providers have limits, whose keys have a prefix of their own.
func checkRedis(ctx context.Context, rdb redis.UniversalClient, place string, limits bool) []finding {
	findings := checkNodes(ctx, rdb, place)
	if findings[0].Verdict == bad && len(findings) == 1 {
		return findings // it does not answer
	}
	return append(findings, checkRights(ctx, rdb, limits))
}

func checkNodes(ctx context.Context, rdb redis.UniversalClient, place string) []finding {
	cluster, ok := rdb.(*redis.ClusterClient)
	if !ok {
		return checkNode(ctx, rdb, place)
	}
	var mu sync.Mutex
	var findings []finding
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		found := checkNode(ctx, node, node.Options().Addr)
		mu.Lock()
		defer mu.Unlock()
		findings = append(findings, found...)
		return nil
	})
	if err != nil || len(findings) == 0 {
		return []finding{{"redis", bad, "no answer from " + place}}
	}
	return findings
}

type informed interface {
	Ping(context.Context) *redis.StatusCmd
	Info(context.Context, ...string) *redis.StringCmd
}

func checkNode(ctx context.Context, node informed, place string) []finding {
	if err := node.Ping(ctx).Err(); err != nil {
		return []finding{{"redis", bad, fmt.Sprintf("no answer from %s: %v", place, err)}}
	}
	text, err := node.Info(ctx).Result()
	if err != nil {
		return []finding{
			{"redis", good, place + " answers"},
			{"redis", warning, "version and settings could not be read: this user may not run INFO"},
		}
	}
	info := infoFields(text)
	return []finding{versionFinding(info, place), policyFinding(info), persistenceFinding(info)}
}

func versionFinding(info map[string]string, place string) finding {
	v := info["redis_version"]
	major, rest, _ := strings.Cut(v, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	switch {
	case errA != nil || errB != nil:
		return finding{"redis", warning, place + " answers, but does not say its version; 6.2 is needed"}
	case a < 6 || a == 6 && b < 2:
		return finding{"redis", bad, fmt.Sprintf("%s is version %s; 6.2 is needed", place, v)}
	}
	return finding{"redis", good, fmt.Sprintf("%s answers, version %s", place, v)}
}

func policyFinding(info map[string]string) finding {
	switch policy := info["maxmemory_policy"]; policy {
	case "noeviction":
		return finding{"redis-memory", good, "maxmemory-policy is noeviction"}
	case "":
		return finding{"redis-memory", warning, "maxmemory-policy could not be read; it must be noeviction"}
	default:
		return finding{"redis-memory", bad, fmt.Sprintf("maxmemory-policy is %s; under memory pressure Redis would throw runs away: set noeviction", policy)}
	}
}

func persistenceFinding(info map[string]string) finding {
	switch {
	case info["aof_enabled"] == "1":
		return finding{"redis-persistence", good, "the append-only file is on"}
	case info["aof_enabled"] == "":
		return finding{"redis-persistence", warning, "persistence could not be read; the append-only file should be on"}
	}
	return finding{"redis-persistence", warning, "the append-only file is off; a restart of Redis loses runs: set appendonly yes"}
}

// infoFields reads the lines of INFO.
func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}
