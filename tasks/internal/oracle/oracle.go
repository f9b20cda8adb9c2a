package oracle

import (
	"fourfold/executor"
	"fourfold/tasks/internal/runstate"
)

// Own is how a step ends by itself, when it is run at all.
type Own struct {
	Outcome executor.Outcome
	Cause   runstate.Cause
}

// StepResult is how a step of the run must end.
type StepResult struct {
	Own
	Skipped bool
	Marker  runstate.Marker // outgoing
}

// RunResult is how the run must end.
type RunResult struct {
	Steps  []StepResult
	Marker runstate.Marker
	Counts [5]int // abstained, ok, degraded, failed, skipped
	Calls  int    // steps that neither abstained nor were skipped, at one attempt each
}

// Evaluate ends each step of the graph, which is in topological order, as own says, unless a parent that it requires
// has failed.
func Evaluate(graph []runstate.Node, own []Own) RunResult {
	res := RunResult{Steps: make([]StepResult, len(graph))}
	for i, node := range graph {
		step := evaluate(res.Steps, node, own[i], i)
		res.Steps[i] = step
		res.count(step)
		mine := runstate.NewMarker(step.Outcome, i, step.Cause)
		if absorbed(graph, i) && step.Cause != runstate.CauseCanceled && step.Cause != runstate.CauseDeadline {
			mine = mine.Lowered()
		}
		res.Marker = runstate.Join(res.Marker, mine)
	}
	return res
}

func evaluate(before []StepResult, node runstate.Node, own Own, i int) StepResult {
	var in runstate.Marker
	for _, p := range node.Parents {
		parent := before[p.Step]
		carried := parent.Marker
		if parent.Outcome == executor.OutcomeFailed {
			switch p.Mode {
			case 'r':
				skipped := Own{executor.OutcomeFailed, runstate.CauseDependency}
				return StepResult{skipped, true, runstate.NewMarker(skipped.Outcome, i, skipped.Cause)}
			case 'o':
				carried = carried.Lowered()
			}
		}
		in = runstate.Join(in, carried)
	}
	return StepResult{own, false, runstate.Join(runstate.NewMarker(own.Outcome, i, own.Cause), in)}
}

func (r *RunResult) count(s StepResult) {
	switch {
	case s.Skipped:
		r.Counts[4]++
		return
	case s.Outcome != executor.OutcomeAbstained:
		r.Calls++
	}
	r.Counts[s.Outcome-executor.OutcomeAbstained]++
}

// absorbed says whether every dependent that is no always edge takes the step as optional, and there is one.
func absorbed(graph []runstate.Node, i int) bool {
	some := false
	for _, c := range graph[i].Children {
		switch c.Mode {
		case 'r':
			return false
		case 'o':
			some = true
		}
	}
	return some
}
