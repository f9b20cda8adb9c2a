package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fourfold/executor"
	"fourfold/flow"
	"fourfold/tasks/internal/oracle"
	"fourfold/tasks/internal/runstate"
)

// mostSteps is how many steps a flow has at most.
const mostSteps = 9

// plan is one random flow with all that follows from it.
type plan struct {
	name   string
	path   string // of the flow file
	bundle *flow.Bundle
	want   oracle.RunResult
	ids    []string
	calls  map[string]string // units that must be asked for ("s3", "s4.0") → the inputs that their prompts must show
	lists  map[string]int    // for_each steps → how many items
}

// step is how one step of the plan ends, and as what it is written.
type step struct {
	node  runstate.Node
	own   oracle.Own
	items int // of a for_each step; -1: it is none
	bad   int // the item that fails; -1: none
}

// newPlan draws a flow and writes it into its own folder below dir.
func newPlan(rng *rand.Rand, dir, name string) (*plan, error) {
	graph := oracle.RandomGraph(rng, mostSteps)
	own := oracle.RandomOwn(rng, len(graph))
	p := &plan{name: name, calls: map[string]string{}, lists: map[string]int{}}
	steps := make([]step, len(graph))
	for i, node := range graph {
		if own[i].Outcome >= executor.OutcomeDegraded { // what the server can bring about
			own[i].Cause = []runstate.Cause{runstate.CauseUpstream5xx, runstate.CauseUpstream4xx}[rng.IntN(2)]
		}
		steps[i] = asWritten(rng, node, own[i])
		p.ids = append(p.ids, node.ID)
	}
	p.want = oracle.Evaluate(graph, own)
	for i, s := range steps {
		p.expect(s, p.want.Steps[i].Skipped, p.inputs(steps, s))
	}
	return p, p.write(filepath.Join(dir, name), steps)
}

// asWritten makes a for_each step of some steps, with items from which the same outcome follows.
func asWritten(rng *rand.Rand, node runstate.Node, own oracle.Own) step {
	s := step{node, own, -1, -1}
	if rng.IntN(3) > 0 {
		return s
	}
	s.items = 1 + rng.IntN(4)
	switch own.Outcome {
	case executor.OutcomeAbstained:
		s.items = 0
	case executor.OutcomeDegraded, executor.OutcomeFailed:
		s.bad = rng.IntN(s.items)
	case executor.OutcomeNone, executor.OutcomeOK:
	}
	return s
}

// inputs is what the prompt of a step shows of its parents: outcome and value of each.
func (p *plan) inputs(steps []step, s step) string {
	var all []string
	for _, parent := range s.node.Parents {
		value := steps[parent.Step].value()
		if p.want.Steps[parent.Step].Outcome == executor.OutcomeFailed {
			value = "null"
		}
		all = append(all, fmt.Sprintf("%v:%s", p.want.Steps[parent.Step].Outcome, value))
	}
	return strings.Join(all, " ")
}

// value is what the step makes, as JSON, when it does not fail.
func (s step) value() string {
	switch {
	case s.own.Outcome == executor.OutcomeAbstained:
		return "[]"
	case s.items < 0 && s.own.Outcome == executor.OutcomeDegraded:
		return `"less"`
	case s.items < 0:
		return strconv.Quote(answerOf(s.node.ID))
	}
	items := make([]string, s.items)
	for k := range items {
		items[k] = strconv.Quote(answerOf(fmt.Sprint(s.node.ID, ".", k)))
		if k == s.bad {
			items[k] = "null"
		}
	}
	return "[" + strings.Join(items, ",") + "]"
}

// answerOf is the server's answer for a unit.
func answerOf(unit string) string { return "made-by-" + unit }

func (p *plan) expect(s step, skipped bool, inputs string) {
	if s.items >= 0 {
		p.lists[s.node.ID] = s.items
	}
	switch {
	case skipped:
	case s.items >= 0:
		for k := range s.items {
			p.calls[fmt.Sprint(s.node.ID, ".", k)] = inputs
		}
	case s.own.Outcome != executor.OutcomeAbstained:
		p.calls[s.node.ID] = inputs
	}
}

func (p *plan) write(dir string, steps []step) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "flow: %s\nsteps:\n", p.name)
	for _, s := range steps {
		s.write(&b)
		if err := os.WriteFile(filepath.Join(dir, s.node.ID+".tmpl"), []byte(s.prompt()), 0o600); err != nil {
			return err
		}
	}
	p.path = filepath.Join(dir, "flow.yaml")
	if err := os.WriteFile(p.path, []byte(b.String()), 0o600); err != nil {
		return err
	}
	var err error
	p.bundle, err = flow.Load(os.DirFS(dir), "flow.yaml")
	return err
}

func (s step) write(b *strings.Builder) {
	fmt.Fprintf(b, "  - id: %s\n    prompt: %[1]s.tmpl\n    chain: default\n    budget: {attempts: 1, per_attempt: 2m, total: 2m}\n", s.node.ID)
	switch {
	case s.items >= 0:
		fmt.Fprintf(b, "    for_each: input.%s\n    max_in_flight: 2\n", s.node.ID)
		if s.own.Outcome == executor.OutcomeDegraded {
			b.WriteString("    on_item_failure: degrade\n")
		}
	case s.own.Outcome == executor.OutcomeAbstained:
		b.WriteString("    abstain: {on: 'true', to: '[]'}\n")
	case s.own.Outcome == executor.OutcomeDegraded:
		b.WriteString("    degrade_to: '\"less\"'\n")
	}
	if len(s.node.Parents) == 0 {
		return
	}
	b.WriteString("    needs:\n")
	for _, parent := range s.node.Parents {
		mode := map[byte]string{'r': "require", 'o': "optional", 'a': "always"}[parent.Mode]
		fmt.Fprintf(b, "      - {step: s%d, mode: %s}\n", parent.Step, mode)
	}
}

// prompt tells the server whose call it is, what to answer, and what the step was handed.
func (s step) prompt() string {
	word := "ok"
	if s.own.Outcome >= executor.OutcomeDegraded {
		word = map[runstate.Cause]string{runstate.CauseUpstream5xx: "503", runstate.CauseUpstream4xx: "404"}[s.own.Cause]
	}
	unit := s.node.ID
	if s.items >= 0 {
		unit += ".{{.item}}"
		word = fmt.Sprintf(`{{if eq .item "%d"}}%s{{else}}ok{{end}}`, s.bad, word)
	}
	text := "soak {{.input.run}} " + unit + " " + word
	for _, parent := range s.node.Parents {
		text += fmt.Sprintf(" {{.steps.s%d.outcome}}:{{json .steps.s%[1]d.value}}", parent.Step)
	}
	return text
}

// input is a run's: its number, and the lists that for_each steps go over.
func (p *plan) input(run int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"run": %d`, run)
	for _, id := range slices.Sorted(maps.Keys(p.lists)) {
		items := make([]string, p.lists[id])
		for k := range items {
			items[k] = strconv.Quote(strconv.Itoa(k))
		}
		fmt.Fprintf(&b, `, "%s": [%s]`, id, strings.Join(items, ","))
	}
	b.WriteByte('}')
	return b.String()
}
