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
// the machine's cores, so that growth ends where the cores do.
func cluster(s *session) error {
	var suite redistest.Suite
	defer suite.Close()
	c := redistest.StartCluster(&suite, nodes)
	rdb := c.Client(&suite)
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
			d, err := s.drainCluster(contender{label: ours, spec: spec, runs: n, run: over(chosen)})
			if err != nil {
				return err
			}
			s.figures.add("cluster", fmt.Sprintf("%d queues", queues), "chains a second", "/s", d.rate())
		}
	}
	return nil
}

func (s *session) drainCluster(c contender) (drained, error) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	return s.drainOn(ctx, c, nil)
}

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
