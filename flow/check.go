package flow

import (
	"slices"

	"fourfold/executor"
)

// checker turns a flow file into a Flow, noting everything that is wrong with it and with the files that it names.
type checker struct {
	file  string // the flow file
	files *files
	found *findings
	flow  *flowSpec
	byID  map[string]int // the steps' places in the file, by id
}

// inputStep is a word that steps cannot be named: the run's input is kept beside their values.
const inputStep = "input"

// check returns the flow, or nil when there are problems.
func check(file string, data []byte, files *files, found *findings) *Flow {
	found.mention(file)
	c := &checker{file: file, files: files, found: found, byID: map[string]int{}}
	if c.flow = readFlow(file, data, found); c.flow == nil {
		return nil
	}
	c.names()
	g := c.edges()
	c.cycles(g)
	steps := make([]*Step, len(c.flow.steps))
	for i, s := range c.flow.steps {
		steps[i] = c.step(s)
	}
	if len(found.list) > 0 {
		return nil
	}
	f := &Flow{Name: c.flow.name.value, Deadline: c.flow.deadline.value, FailFast: c.flow.failFast}
	for _, i := range g.order() {
		steps[i].Index = len(f.Steps)
		f.Steps = append(f.Steps, steps[i])
	}
	c.connect(f, steps)
	return f
}

// connect writes the edges of the steps, which are given in file order.
func (c *checker) connect(f *Flow, steps []*Step) {
	for i, spec := range c.flow.steps {
		for _, need := range spec.needs {
			parent := steps[c.byID[need.step.value]]
			steps[i].Needs = append(steps[i].Needs, Edge{parent.ID, parent.Index, need.mode})
		}
	}
	for _, child := range f.Steps { // so that children stand by index
		for _, need := range child.Needs {
			parent := f.Steps[need.Index]
			parent.Children = append(parent.Children, Edge{child.ID, child.Index, need.Mode})
		}
	}
}

func (c *checker) problem(at position, format string, args ...any) {
	c.found.add(c.file, at, format, args...)
}

// names checks the flow's name and the steps' ids.
func (c *checker) names() {
	if !c.flow.name.given() {
		c.problem(position{}, "the flow has no name; give it one with the key flow")
	} else if v := c.flow.name.value; v != "" && !validID(v) {
		c.problem(c.flow.name.at, "the flow's name must match [a-z0-9][a-z0-9-]{0,62}")
	}
	if !c.flow.hasSteps {
		c.problem(position{}, "the flow has no steps")
	}
	for i, s := range c.flow.steps {
		id := s.id.value
		switch {
		case !s.id.given():
			c.problem(s.at, "a step needs an id")
		case id == "":
		case !validID(id):
			c.problem(s.id.at, "a step's id must match [a-z0-9][a-z0-9-]{0,62}")
		case id == inputStep:
			c.problem(s.id.at, "a step cannot be named %q: that is the run's input", inputStep)
		default:
			if first, ok := c.byID[id]; ok {
				c.problem(s.id.at, "a second step %q; the first is on line %d", id, c.flow.steps[first].id.at.line)
				continue
			}
			c.byID[id] = i
		}
	}
}

func validID(s string) bool {
	_, err := executor.ParseStepID(s)
	return err == nil
}

// edges checks the needs and returns the graph of those that are right.
func (c *checker) edges() graph {
	g := graph{make([][]int, len(c.flow.steps)), make([][]int, len(c.flow.steps))}
	for i, s := range c.flow.steps {
		seen := map[string]bool{}
		for _, need := range s.needs {
			name := need.step.value
			parent, ok := c.byID[name]
			switch {
			case !ok:
				c.problem(need.step.at, "there is no step %q%s", name, Suggest(name, c.ids(s)))
			case seen[name]:
				c.problem(need.step.at, "%q is needed twice", name)
			default:
				g.parents[i] = append(g.parents[i], parent)
				g.children[parent] = append(g.children[parent], i)
			}
			seen[name] = true
		}
	}
	return g
}

// ids returns the ids of all steps but one, in file order.
func (c *checker) ids(but *stepSpec) []string {
	var ids []string
	for _, s := range c.flow.steps {
		if s != but && s.id.value != "" {
			ids = append(ids, s.id.value)
		}
	}
	return ids
}

func (c *checker) cycles(g graph) {
	for _, cycle := range g.cycles() {
		first, next := c.flow.steps[cycle[0]], c.flow.steps[cycle[1%len(cycle)]]
		i := slices.IndexFunc(first.needs, func(n needSpec) bool { return n.step.value == next.id.value })
		if first == next {
			c.problem(first.needs[i].step.at, "%q needs itself", first.id.value)
			continue
		}
		c.problem(first.needs[i].step.at, "a cycle: %s (each needs the next)", pathText(c.flow.steps, cycle))
	}
}

// open reads a file that the flow names.
func (c *checker) open(t text, key string) (file string, data []byte, ok bool) {
	data, err := c.files.read(t.value)
	if err != nil {
		c.problem(t.at, "%s: %s: %v", key, t.value, err)
		return "", nil, false
	}
	file, _ = localName(t.value)
	c.found.mention(file)
	return file, data, true
}
