package main

import (
	"fmt"
	"strings"

	"fourfold/bench/anchors/internal/job"
)

// goal is one line of what was promised, and how figures answer it.
type goal struct {
	what, want string
	judge      func(figures) verdict
}

// verdict of a goal.
type verdict struct {
	measured string // empty: it was not measured in this run
	met      bool
}

var goals = []goal{
	{"durable chains of three, with outcomes, markers, checkpoints and metrics, at saturation", "≥ 1.0 × bare asynq with 4 servers", func(f figures) verdict {
		return atLeast(f, "chains", ours, asynqFour, "chains a second", 1)
	}},
	{"the same", "≥ 7 × go-workflows, tuned", func(f figures) verdict {
		return atLeast(f, "chains", ours, workflowsFit, "chains a second", 7)
	}},
	{"the same", "ahead of BullMQ's flow", func(f figures) verdict {
		return atLeast(f, "chains", ours, bullMQFlow, "chains a second", 1)
	}},
	{"with steps of 50 ms, 200 in flight", "≥ 0.97 of the ideal", func(f figures) verdict {
		return all(f, "sleeps", ours, bound{"of the ideal", 0.97, false})
	}},
	{"the same beside asynq, which reached 0.96 where the goal was set", "≥ 1.01 ×", func(f figures) verdict {
		return atLeast(f, "sleeps", ours, asynqFour, "of the ideal", 1.01)
	}},
	{"one chain of three on an idle fleet", "p50 ≤ 1.0 ms, p99 ≤ 2.5 ms", func(f figures) verdict {
		return all(f, "idle", ours, bound{"one chain, p50", 1, true}, bound{"one chain, p99", 2.5, true})
	}},
	{"the same beside asynq alone, waiting in BLMOVE, which took 0.62 ms and 0.99 ms where the goal was set", "p50 ≤ 1.61 ×, p99 ≤ 2.53 ×", func(f figures) verdict {
		return join(atMost(f, "idle", ours, asynqWoken, "one chain, p50", 1.61), atMost(f, "idle", ours, asynqWoken, "one chain, p99", 2.53))
	}},
	{"an idle worker", "≤ 5 Redis scripts a second, ≤ 0.5 % CPU", func(f figures) verdict {
		return all(f, "idle", ours, bound{"scripts a second of an idle worker", 5, true}, bound{"CPU of an idle worker", 0.5, true})
	}},
	{"a fan-out of 100 and join, idle fleet", "≤ 3 × the time of 100 bare asynq tasks", fanVerdict},
	{"10,000 and 20,000 steps in flight, 5 s each", "≥ 0.99 of the ideal rate, ≤ 20 KiB a step, no command over 50 ms, nothing run twice, no lease lost", inflightVerdict},
	{"20,000 of them beside asynq, which reached 0.997 where the goal was set", "≥ 0.993 ×", func(f figures) verdict {
		most := crowd{steps: 20_000, queues: 8}
		return atLeast(f, "inflight", most.of(job.Fourfold), most.of(job.Asynq), "of the ideal rate", 0.993)
	}},
	{"Redis round trips a step", "≤ 2.2", func(f figures) verdict {
		return join(all(f, "chains", ours, bound{"round trips a step", 2.2, true}), all(f, "idle", ours, bound{"round trips a step, producer's included", 2.2, true}))
	}},
	{"Client.Submit from 16 goroutines", "≥ 1.0 × bare asynq's enqueue", func(f figures) verdict {
		return atLeast(f, "submit", ours+", one step", "asynq", "submitted from 16 goroutines", 1)
	}},
	{"executor around an attempt that does nothing", "≤ 900 ns, ≤ 2 allocations", func(f figures) verdict {
		return all(f, "units", "Run/one attempt", bound{"time", 900, true}, bound{"allocations", 2, true})
	}},
	{"the same beside a race written down plainly, which took 1,090 ns where the goal was set", "≤ 0.83 ×", func(f figures) verdict {
		return atMost(f, "units", "Run/one attempt", "Run/race written down plainly", "time", 0.83)
	}},
	{"telemetry of a finished step", "≤ 450 ns, 0 allocations", func(f figures) verdict {
		return all(f, "units", "StepFinished/metrics", bound{"time", 450, true}, bound{"allocations", 0, true})
	}},
	{"a killed worker's steps run again", "≤ 20 s after kill -9", func(f figures) verdict {
		return all(f, "kill", ours, bound{"until the last step runs again", 20, true})
	}},
	{"state of an open run, values apart", "≤ 600 bytes a step", func(f figures) verdict {
		v := verdict{met: true}
		for _, label := range []string{"1 step", "3 steps", "16 steps", "256 steps"} {
			v = join(v, all(f, "bytes", label, bound{"state a step, open", 600, true}))
		}
		return v
	}},
	{"cost of a step, from 1,000 to 100,000 open runs and from 1 to 256 steps", "flat", flatVerdict},
	{"what a three-node cluster can do", "grows with queues", clusterVerdict},
}

// atLeast compares the same metric of two systems, by the median ratio of the rounds.
func atLeast(f figures, workload, system, anchor, metric string, least float64) verdict {
	r, ok := ratio(f.find(workload, system, metric), f.find(workload, anchor, metric))
	if !ok {
		return verdict{}
	}
	return verdict{fmt.Sprintf("%.2f ×", r), r >= least}
}

// atMost is atLeast for what is to be small.
func atMost(f figures, workload, system, anchor, metric string, most float64) verdict {
	r, ok := ratio(f.find(workload, system, metric), f.find(workload, anchor, metric))
	if !ok {
		return verdict{}
	}
	return verdict{fmt.Sprintf("%.2f ×", r), r <= most}
}

// bound is what a figure's median must keep.
type bound struct {
	metric string
	limit  float64
	most   bool // it is an upper limit
}

// all is met when each bound is; without any of the figures it is not measured.
func all(f figures, workload, system string, bounds ...bound) verdict {
	v := verdict{met: true}
	for _, b := range bounds {
		fig := f.find(workload, system, b.metric)
		if fig == nil {
			return verdict{}
		}
		m := fig.median()
		v = join(v, verdict{strings.TrimSpace(digits(m) + " " + fig.unit), b.most && m <= b.limit || !b.most && m >= b.limit})
	}
	return v
}

func join(a, b verdict) verdict {
	switch {
	case a.measured == "":
		return verdict{b.measured, a.met && b.met}
	case b.measured == "":
		return a
	}
	return verdict{a.measured + "; " + b.measured, a.met && b.met}
}

func fanVerdict(f figures) verdict {
	v := verdict{met: true}
	for _, label := range []string{ours + ", one step → 100 → one step", ours + ", for_each over 100 items"} {
		r, ok := ratio(f.find("fan", label, "time, p50"), f.find("fan", "asynq, 100 tasks, no join", "time, p50"))
		if !ok {
			return verdict{}
		}
		v = join(v, verdict{fmt.Sprintf("%.2f ×", r), r <= 3})
	}
	return v
}

func inflightVerdict(f figures) verdict {
	v := verdict{met: true}
	for _, fig := range f {
		if fig.workload != "inflight" || fig.metric != "of the ideal rate" || !strings.HasPrefix(fig.system, ours) {
			continue
		}
		_, name, _ := strings.Cut(fig.system, ", ")
		one := all(f, "inflight", fig.system, bound{"of the ideal rate", 0.99, false}, bound{"memory a step", 20, true},
			bound{"longest command in Redis", 50, true}, bound{"run more than once", 0, true}, bound{"leases lost", 0, true})
		one.measured = name + ": " + one.measured
		v = join(v, one)
	}
	if v.measured == "" {
		return verdict{}
	}
	return v
}

// flat is the most by which the dearest point of a curve may exceed its first: the machine's own noise.
const flat = 1.5

func flatVerdict(f figures) verdict {
	v := verdict{met: true}
	for _, of := range []string{"open runs in the queue", "steps of a run"} {
		var points []float64
		for _, fig := range f {
			if fig.workload == "growth" && strings.HasPrefix(fig.system, of+":") && fig.metric == redisACost {
				points = append(points, fig.median())
			}
		}
		if len(points) < 2 {
			return verdict{}
		}
		// A run of one step also bears what a run costs, so that longer ones are cheaper a step.
		r := points[len(points)-1] / points[0]
		v = join(v, verdict{fmt.Sprintf("%s: %.2f × from first to last", of, r), r <= flat})
	}
	return v
}

func clusterVerdict(f figures) verdict {
	one := f.find("cluster", "1 queues", busiestNode)
	var best *figure
	for _, fig := range f {
		if fig.workload == "cluster" && fig.metric == busiestNode && (best == nil || fig.median() < best.median()) {
			best = fig
		}
	}
	if one == nil || best == nil || best.median() == 0 {
		return verdict{}
	}
	r := one.median() / best.median()
	return verdict{fmt.Sprintf("%.2f × by the busiest node's CPU, with %s", r, best.system), r >= 1.5}
}
