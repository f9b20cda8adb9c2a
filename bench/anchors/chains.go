package main

import (
	"os"
	"path/filepath"
	"time"

	"fourfold/bench/anchors/internal/job"
)

// The systems' labels in figures.
const (
	ours         = "fourfold"
	oursLogging  = "fourfold, with a log line a step"
	asynqFour    = "asynq, 4 servers"
	asynqOne     = "asynq, 1 server"
	workflowsFit = "go-workflows, tuned"
	bullMQFlow   = "bullmq, flow"
	riverFit     = "river, tuned"
)

// slots is how many steps a saturated worker runs at a time.
const slots = 64

// three is the job of the goals: three steps, each needing the one before.
var three = job.Run{Queue: queue, Shape: job.Chain, Steps: 3}

func (s *session) contenders(slots int, fast, slow int) []contender {
	asynq := s.spec(job.Asynq, "")
	single := asynq
	single.Servers = 1
	fit := s.spec(job.River, "")
	fit.Poll = riverPoll
	all := []contender{
		{label: ours, spec: s.spec(job.Fourfold, ""), runs: fast, often: s.closely()},
		{label: asynqFour, spec: asynq, runs: fast, often: s.closely()},
		{label: asynqOne, spec: single, runs: fast},
		{label: workflowsFit, spec: s.spec(job.Workflows, ""), runs: slow},
	}
	if job.BullMQThere() {
		all = append(all, contender{label: bullMQFlow, spec: s.spec(job.BullMQ, ""), runs: fast, often: s.closely()})
	}
	if postgresThere() {
		all = append(all, contender{label: riverFit, spec: fit, runs: slow})
	}
	for i := range all {
		all[i].spec.Slots, all[i].run = slots, same(three)
	}
	return all
}

func chains(s *session) error {
	if s.profile != "" {
		if err := os.MkdirAll(s.profile, 0o755); err != nil {
			return err
		}
	}
	all := s.contenders(slots, size(s, 30_000, 4_000), size(s, 4_000, 400))
	logging := all[0]
	logging.label, logging.spec.Log, logging.often = oursLogging, true, 1
	all = append(all, logging)
	err := s.compare(all, func(c contender, d drained) {
		f, steps := &s.figures, float64(d.steps)
		f.add("chains", c.label, "chains a second", "/s", d.rate())
		f.add("chains", c.label, "worker CPU a step", "µs", d.report.CPU.Seconds()*1e6/steps)
		f.add("chains", c.label, "worker memory, peak", "MiB", float64(d.report.Peak)/(1<<20))
		if d.usage.commands == nil {
			return
		}
		f.add("chains", c.label, "Redis CPU a step", "µs", d.usage.cpu/steps)
		f.add("chains", c.label, "round trips a step", "", float64(d.report.Writes)/steps)
		f.add("chains", c.label, "scripts a step", "", d.usage.scripts/steps)
		f.add("chains", c.label, "Redis time in scripts a step", "µs", d.usage.scriptMicros/steps)
	})
	if err != nil {
		return err
	}
	return s.scripts(filepath.Join(s.root, "tasks", "internal", "runstate", "lua"))
}

// The job of sleeps; ideal is chains a second when nothing but the sleeping takes time.
const (
	stepOf50ms = 50 * time.Millisecond
	sleepSlots = 200
	ideal      = sleepSlots / 0.15
)

func sleeps(s *session) error {
	all := s.contenders(sleepSlots, size(s, 8_000, 2_000), size(s, 4_000, 600))
	for i := range all {
		all[i].spec.Step = stepOf50ms
	}
	return s.compare(all, func(c contender, d drained) {
		s.figures.add("sleeps", c.label, "chains a second", "/s", d.rate())
		s.figures.add("sleeps", c.label, "of the ideal", "", d.rate()/ideal)
	})
}
