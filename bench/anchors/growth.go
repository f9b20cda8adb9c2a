package main

import (
	"fmt"

	"fourfold/bench/anchors/internal/job"
	"fourfold/bench/anchors/internal/plot"
)

// curve is one question about growth: the cost of a step over one quantity.
type curve struct {
	file, title, x string
	log            bool
	points         []int
	at             func(s *session, v int) contender
}

// redisACost is the metric that flatVerdict looks at: CPU time, which does not grow when others take the core.
const redisACost = "a step, Redis CPU"

// growth measures curves of our own: time a step, and the CPU time of Redis and of the worker in it.
func growth(s *session) error {
	for _, c := range []curve{
		{"open-runs", "Cost of a step over open runs", "open runs in the queue", true, size(s, []int{1_000, 3_000, 10_000, 30_000, 100_000}, []int{1_000, 5_000}), overOpenRuns},
		{"steps", "Cost of a step over the steps of a run", "steps of a run", true, size(s, []int{1, 3, 16, 64, 256}, []int{3, 64}), overSteps},
		{"payload", "Cost of a step over the size of its value", "bytes", true, size(s, []int{10, 100, 1_000, 10_000, 100_000}, []int{10, 10_000}), overPayload},
		{"workers", "Cost of a step over workers in a process", "workers", false, size(s, []int{1, 2, 4, 8}, []int{1, 4}), overWorkers},
		{"queues", "Cost of a step over queues on one Redis", "queues", false, size(s, []int{1, 2, 4, 8}, []int{1, 4}), overQueues},
	} {
		if err := s.draw(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) draw(c curve) error {
	wall, redis, worker := plot.Series{Name: "in all"}, plot.Series{Name: "Redis CPU"}, plot.Series{Name: "worker CPU"}
	for _, v := range c.points {
		var alls, redisCPU, workerCPU []float64
		for range s.rounds {
			d, err := s.drain(c.at(s, v))
			if err != nil {
				return err
			}
			alls = append(alls, d.took.Seconds()*1e6/float64(d.steps))
			redisCPU = append(redisCPU, d.usage.cpu/float64(d.steps))
			workerCPU = append(workerCPU, d.report.CPU.Seconds()*1e6/float64(d.steps))
		}
		label := fmt.Sprintf("%s: %d", c.x, v)
		s.figures.add("growth", label, "a step, in all", "µs", median(alls))
		s.figures.add("growth", label, redisACost, "µs", median(redisCPU))
		s.figures.add("growth", label, "a step, worker CPU", "µs", median(workerCPU))
		wall.Points = append(wall.Points, plot.Point{X: float64(v), Y: median(alls)})
		redis.Points = append(redis.Points, plot.Point{X: float64(v), Y: median(redisCPU)})
		worker.Points = append(worker.Points, plot.Point{X: float64(v), Y: median(workerCPU)})
	}
	s.charts = append(s.charts, namedChart{c.file, plot.Chart{Title: c.title, X: c.x, Y: "µs a step", LogX: c.log, Series: []plot.Series{wall, redis, worker}}})
	return nil
}

func (s *session) grown(run job.Run, runs int) contender {
	c := contender{label: ours, spec: s.spec(job.Fourfold, ""), runs: runs, run: same(run)}
	c.spec.Slots = slots
	return c
}

// overOpenRuns works off the first thousand of ever more open runs.
func overOpenRuns(s *session, open int) contender {
	c := s.grown(three, open)
	c.until = 1_000
	return c
}

// overSteps keeps the number of steps in all.
func overSteps(s *session, steps int) contender {
	return s.grown(job.Run{Queue: queue, Shape: job.Chain, Steps: steps}, max(16, size(s, 24_000, 6_000)/steps))
}

func overPayload(s *session, bytes int) contender {
	run := three
	run.Input = bytes
	c := s.grown(run, size(s, 3_000, 600))
	c.spec.Value = bytes
	return c
}

func overWorkers(s *session, workers int) contender {
	c := s.grown(three, size(s, 10_000, 2_000))
	c.spec.Workers, c.spec.Slots = workers, max(1, slots/workers)
	return c
}

func overQueues(s *session, queues int) contender {
	c := s.grown(three, size(s, 10_000, 2_000))
	c.spec.Queues = names(queues)
	c.run = over(c.spec.Queues)
	return c
}

func names(queues int) []string {
	var all []string
	for i := range queues {
		all = append(all, fmt.Sprint("q", i))
	}
	return all
}

// over spreads chains evenly over queues.
func over(queues []string) func(i int) job.Run {
	return func(i int) job.Run {
		r := three
		r.Queue = queues[i%len(queues)]
		return r
	}
}
