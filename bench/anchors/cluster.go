package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"fourfold/bench/anchors/internal/job"
	"fourfold/internal/redistest"
)

// nodes of the cluster.
const nodes = 3

// cluster measures chains over a cluster of three, by the number of queues. The nodes, the worker and the producer share
// the machine's cores, so that growth ends where the cores do; what the busiest node spends a step says how far it would go.
func cluster(s *session) error {
	var suite redistest.Suite
	defer suite.Close()
	c := redistest.StartCluster(&suite, nodes)
	rdb := c.Client(&suite)
	var each []*redis.Client
	for _, node := range c.Nodes {
		each = append(each, node.Admin(&suite))
	}
	for range s.rounds {
		for _, queues := range size(s, []int{1, 3, 6, 12}, []int{1, 3}) {
			c.Flush(&suite)
			chosen, err := spreadQueues(s.ctx, rdb, queues)
			if err != nil {
				return err
			}
			n := size(s, 15_000, 3_000)
			spec := s.spec(job.Fourfold, "")
			spec.Redis, spec.Queues, spec.Slots = c.Addrs(), chosen, slots
			if err := s.clusterOne(contender{label: ours, spec: spec, runs: n, run: over(chosen)}, each); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) clusterOne(c contender, each []*redis.Client) error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	before := make([]float64, len(each))
	var d drained
	var err error
	filled := func() error {
		for i, node := range each {
			if before[i], err = redisCPU(ctx, node); err != nil {
				return err
			}
		}
		return nil
	}
	if d, err = s.drainFilled(ctx, c, nil, filled); err != nil {
		return err
	}
	busiest := 0.0
	for i, node := range each {
		after, err := redisCPU(ctx, node)
		if err != nil {
			return err
		}
		busiest = max(busiest, after-before[i])
	}
	label, steps := fmt.Sprintf("%d queues", len(c.spec.Queues)), float64(d.steps)
	s.figures.add("cluster", label, "chains a second", "/s", d.rate())
	s.figures.add("cluster", label, busiestNode, "µs", busiest/steps)
	s.figures.add("cluster", label, "worker CPU a step", "µs", d.report.CPU.Seconds()*1e6/steps)
	return nil
}

// busiestNode is what limits a cluster, whatever shares the machine with it.
const busiestNode = "CPU of the busiest node a step"

// spreadQueues picks names that lie evenly on the nodes.
func spreadQueues(ctx context.Context, rdb *redis.ClusterClient, n int) ([]string, error) {
	var chosen []string
	on := map[string]int{}
	for i := 0; len(chosen) < n; i++ {
		name := fmt.Sprint("q", i)
		node, err := rdb.MasterForKey(ctx, "asynq:{"+name+"}:pending")
		if err != nil {
			return nil, err
		}
		addr := node.Options().Addr
		if on[addr] > len(chosen)/nodes {
			continue
		}
		on[addr]++
		chosen = append(chosen, name)
	}
	return chosen, nil
}
