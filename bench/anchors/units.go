package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// units runs the Go benchmarks of the packages that the goals name, on as many cores as the workers have, and several times: the
// first time is slower than all that follow.
func units(s *session) error {
	for range s.rounds {
		cmd := exec.CommandContext(s.ctx, "go", "test", "-run", "^$", "-benchmem", "-benchtime", size(s, "1s", "0.2s"),
			"-count", size(s, "5", "3"), "-cpu", strconv.Itoa(s.procs),
			"-bench", "^(BenchmarkRun|BenchmarkStepFinished|BenchmarkClientAlone)$/^(one_attempt|race_written_down_plainly|abstained|metrics)?$",
			"./executor", "./telemetry")
		cmd.Dir = s.root
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("go test: %w\n%s", err, out)
		}
		if s.tellUnits(string(out)) == 0 {
			return fmt.Errorf("no benchmark has run:\n%s", out)
		}
	}
	return nil
}

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op.*?\s(\d+) B/op\s+(\d+) allocs/op`)

// tellUnits reads what go test printed, and says how many benchmarks there were.
func (s *session) tellUnits(out string) int {
	found := benchmarkLine.FindAllStringSubmatch(out, -1)
	for _, m := range found {
		name := strings.ReplaceAll(m[1], "_", " ")
		for i, metric := range []struct{ name, unit string }{{"time", "ns"}, {"memory", "B"}, {"allocations", ""}} {
			if v, err := strconv.ParseFloat(m[2+i], 64); err == nil {
				s.figures.add("units", name, metric.name, metric.unit, v)
			}
		}
	}
	return len(found)
}
