package oracle

import (
	"math/rand/v2"
	"strconv"

	"fourfold/executor"
	"fourfold/tasks/internal/runstate"
)

// Link adds the children that the parents imply, and what follows for absorption.
func Link(graph []runstate.Node) []runstate.Node {
	for i := range graph {
		for _, p := range graph[i].Parents {
			graph[p.Step].Children = append(graph[p.Step].Children, runstate.Edge{Step: i, Mode: p.Mode})
		}
	}
	for i := range graph {
		graph[i].Absorbable = absorbed(graph, i)
	}
	return graph
}

// RandomGraph makes a graph of 1 to most steps with edges of all modes.
func RandomGraph(rng *rand.Rand, most int) []runstate.Node {
	graph := make([]runstate.Node, 1+rng.IntN(most))
	for i := range graph {
		graph[i].ID = "s" + strconv.Itoa(i)
		for p := range i {
			if rng.IntN(3) == 0 {
				graph[i].Parents = append(graph[i].Parents, runstate.Edge{Step: p, Mode: "rroa"[rng.IntN(4)]})
			}
		}
	}
	return Link(graph)
}

// RandomOwn draws an outcome for each step.
func RandomOwn(rng *rand.Rand, n int) []Own {
	all := []Own{
		{executor.OutcomeOK, runstate.CauseNone},
		{executor.OutcomeOK, runstate.CauseNone},
		{executor.OutcomeAbstained, runstate.CauseNone},
		{executor.OutcomeDegraded, runstate.CauseTimeout},
		{executor.OutcomeDegraded, runstate.CauseParse},
		{executor.OutcomeFailed, runstate.CauseTimeout},
		{executor.OutcomeFailed, runstate.CauseUpstream5xx},
	}
	own := make([]Own, n)
	for i := range own {
		own[i] = all[rng.IntN(len(all))]
	}
	return own
}
