package main

import (
	"fmt"
	"strings"
)

// load is a fleet at work, for the model.
type load struct {
	name     string
	workers  int     // of 100 slots
	step     float64 // seconds a step takes
	openRuns int
	nodes    int // of Redis
	kept     float64
}

const (
	hour         = 3600.0
	slotsEach    = 100
	stepsEach    = 3 // of a run
	maxClients   = 10_000
	workableCore = 0.7 // of a Redis core: above it, waiting grows without bound
)

// loads is the path to a thousand workers and a million open runs.
var loads = []load{
	{"10 workers", 10, 5, 10_000, 1, 24 * hour},
	{"100 workers", 100, 5, 100_000, 1, 24 * hour},
	{"100 workers, retention 1 h", 100, 5, 100_000, 1, hour},
	{"1,000 workers, retention 1 h", 1_000, 5, 1_000_000, 1, hour},
	{"1,000 workers, 3 nodes", 1_000, 5, 1_000_000, 3, hour},
	{"1,000 workers, 6 nodes", 1_000, 5, 1_000_000, 6, hour},
}

// constants are what the model rests on; all are measured.
type constants struct {
	redisStep, workerStep float64 // CPU µs a step
	redisHeld             float64 // CPU µs a second for each step in flight
	redisIdle             float64 // CPU µs a second for each worker
	connections           float64 // of a worker
	idle                  float64 // bytes of a worker's connections
	open, finished        float64 // bytes of a run of three steps
}

// constantsOf is false when a figure is missing.
func constantsOf(f figures) (c constants, ok bool) {
	ok = true
	get := func(workload, system, metric string) float64 {
		fig := f.find(workload, system, metric)
		if fig == nil {
			ok = false
			return 0
		}
		return fig.median()
	}
	c = constants{
		redisStep: get("chains", ours, "Redis CPU a step"), workerStep: get("chains", ours, "worker CPU a step"),
		redisHeld: get("scale", "10000 steps in flight", "Redis CPU of each"), redisIdle: get("scale", "100 idle workers", "Redis CPU of each"),
		idle:        1e3 * get("scale", "100 idle workers", "Redis memory of each"),
		connections: get("scale", "100 idle workers", "connections of each"),
		open:        get("bytes", "3 steps", "an open run, in all"), finished: get("bytes", "3 steps", "a finished run, in all"),
	}
	return c, ok
}

// bill is what a load costs, for each node of Redis.
type bill struct {
	stepsPerSecond float64
	core           float64 // of Redis' one
	connections    float64
	gigabytes      float64
	workerCores    float64 // of each worker
}

func (l load) bill(c constants) bill {
	inFlight := float64(l.workers) * slotsEach
	rate := inFlight / l.step
	nodes := float64(l.nodes)
	b := bill{stepsPerSecond: rate}
	b.core = (rate*c.redisStep + inFlight*c.redisHeld + float64(l.workers)*c.redisIdle) / nodes / 1e6
	b.connections = float64(l.workers) * c.connections
	b.gigabytes = ((float64(l.openRuns)*c.open+rate/stepsEach*l.kept*c.finished)/nodes + float64(l.workers)*c.idle) / 1e9
	b.workerCores = rate / float64(l.workers) * c.workerStep / 1e6
	return b
}

// first says what gives way.
func (b bill) first() string {
	var over []string
	if b.core > workableCore {
		over = append(over, "Redis' core")
	}
	if b.connections > maxClients {
		over = append(over, "`maxclients`")
	}
	if b.gigabytes > 64 {
		over = append(over, "memory: retention")
	}
	if len(over) == 0 {
		return "nothing"
	}
	return strings.Join(over, ", ")
}

// model writes the table of the loads.
func model(b *strings.Builder, f figures) {
	c, ok := constantsOf(f)
	if !ok {
		return
	}
	b.WriteString("## The path to a thousand workers\n\nComputed from the figures above, not measured; [performance.md](performance.md#a-thousand-workers-a-million-open-runs) says how. Workers of 100 slots, all busy; steps\n" +
		"of five seconds, three to a run; open runs: a thousand for each worker. Per node of Redis:\n\n")
	b.WriteString("| load | steps/s in all | Redis' core | memory | connections | a worker's cores | what gives way |\n|---|---|---|---|---|---|---|\n")
	for _, l := range loads {
		x := l.bill(c)
		fmt.Fprintf(b, "| %s | %s | %.0f %% | %s GB | %s | %s | %s |\n", l.name, digits(x.stepsPerSecond), 100*x.core,
			digits(x.gigabytes), digits(x.connections), digits(x.workerCores), x.first())
	}
	b.WriteString("\n")
}
