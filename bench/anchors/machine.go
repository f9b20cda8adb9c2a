package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"fourfold/bench/anchors/internal/job"
)

// machine describes where a run took place.
type machine struct {
	cpu, kernel, memory string
	versions            []string
	load                string // the load average when the run began
	date                time.Time
}

func describe(ctx context.Context) machine {
	m := machine{date: time.Now().UTC(), cpu: "unknown", kernel: runtime.GOOS}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := regexp.MustCompile(`(?m)^model name\s*: (.+)$`).FindStringSubmatch(string(text)); found != nil {
			m.cpu = found[1]
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if found := regexp.MustCompile(`MemTotal:\s*(\d+) kB`).FindStringSubmatch(string(text)); found != nil {
			kb, _ := strconv.Atoi(found[1]) // it is digits
			m.memory = strconv.Itoa(kb>>20) + " GiB"
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.kernel = runtime.GOOS + " " + strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load = strings.Join(strings.Fields(string(text))[:1], "")
	}
	m.versions = append(m.versions, runtime.Version())
	for _, program := range [][]string{{"redis-server", "--version"}, {postgresTool("postgres"), "--version"}, {"node", "--version"}} {
		if found := versionOf(ctx, program); found != "" {
			m.versions = append(m.versions, found)
		}
	}
	if job.BullMQThere() {
		if packages, err := job.BullMQVersions(); err == nil { // it is written in a file of our own
			m.versions = append(m.versions, packages...)
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if measured[dep.Path] {
				m.versions = append(m.versions, dep.Path+" "+dep.Version)
			}
		}
	}
	return m
}

// measured are the modules whose versions matter to a figure.
var measured = map[string]bool{
	"github.com/hibiken/asynq": true, "github.com/redis/go-redis/v9": true, "github.com/cschleiden/go-workflows": true,
	"github.com/riverqueue/river": true, "github.com/DataDog/datadog-go/v5": true,
}

var versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

func versionOf(ctx context.Context, program []string) string {
	if program[0] == "" {
		return ""
	}
	out, err := exec.CommandContext(ctx, program[0], program[1:]...).Output()
	if err != nil {
		return ""
	}
	name := program[0][strings.LastIndex(program[0], "/")+1:]
	return name + " " + versionNumber.FindString(string(out))
}
