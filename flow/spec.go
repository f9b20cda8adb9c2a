package flow

import (
	"math"
	"time"

	"github.com/goccy/go-yaml/ast"

	"fourfold/provider"
)

// flowSpec is a flow file as it is written: well-formed piece by piece, not yet checked as a whole.
type flowSpec struct {
	name     text
	deadline located[time.Duration]
	failFast bool
	steps    []*stepSpec
	hasSteps bool // the key is there
}

type stepSpec struct {
	at                             position
	id                             text
	needs                          []needSpec
	system, prompt, handler, chain text
	output                         text
	requires                       located[provider.Capabilities]
	params                         located[provider.Params]
	budget                         located[budgetSpec]
	maxWait                        located[time.Duration]
	abstain                        located[abstainSpec]
	degradeTo                      text
	forEach                        text
	maxInFlight                    located[int64]
	onItemFailure                  located[bool] // true: degrade
}

type needSpec struct {
	step text
	mode Mode
}

type budgetSpec struct {
	refused                    bool // it is no mapping
	attempts                   located[int64]
	perAttempt, total, backoff located[time.Duration]
}

type abstainSpec struct {
	on, to  text
	refused bool // it is no mapping
}

// located is a value with its place in the flow file. The zero value is a value that is not there.
type located[T any] struct {
	value T
	at    position
}

func (l located[T]) given() bool { return l.at != position{} }

// The keys of the flow file. flow.schema.json and docs/flow.md list the same; tests hold them together.
var (
	flowKeys = []key[flowSpec]{
		{"flow", func(r *reader, f *flowSpec, n ast.Node) { f.name = r.text(n, "flow") }},
		{"deadline", func(r *reader, f *flowSpec, n ast.Node) { f.deadline = r.duration(n, "deadline") }},
		{"fail_fast", func(r *reader, f *flowSpec, n ast.Node) { f.failFast = r.boolean(n, "fail_fast") }},
		{"steps", readSteps},
	}
	stepKeys = []key[stepSpec]{
		{"id", func(r *reader, s *stepSpec, n ast.Node) { s.id = r.text(n, "id") }},
		{"needs", readNeeds},
		{"system", func(r *reader, s *stepSpec, n ast.Node) { s.system = r.text(n, "system") }},
		{"prompt", func(r *reader, s *stepSpec, n ast.Node) { s.prompt = r.text(n, "prompt") }},
		{"handler", func(r *reader, s *stepSpec, n ast.Node) { s.handler = r.text(n, "handler") }},
		{"output", func(r *reader, s *stepSpec, n ast.Node) { s.output = r.text(n, "output") }},
		{"chain", func(r *reader, s *stepSpec, n ast.Node) { s.chain = r.text(n, "chain") }},
		{"requires", readRequires},
		{"params", readParams},
		{"budget", readBudget},
		{"max_wait", func(r *reader, s *stepSpec, n ast.Node) { s.maxWait = r.duration(n, "max_wait") }},
		{"abstain", readAbstain},
		{"degrade_to", func(r *reader, s *stepSpec, n ast.Node) { s.degradeTo = r.expression(n, "degrade_to") }},
		{"for_each", func(r *reader, s *stepSpec, n ast.Node) { s.forEach = r.expression(n, "for_each") }},
		{"max_in_flight", func(r *reader, s *stepSpec, n ast.Node) { s.maxInFlight = r.integer(n, "max_in_flight", 1, MaxItems) }},
		{"on_item_failure", readOnItemFailure},
	}
	needKeys = []key[needSpec]{
		{"step", func(r *reader, e *needSpec, n ast.Node) { e.step = r.text(n, "step") }},
		{"mode", readMode},
	}
	paramKeys = []key[provider.Params]{
		{"temperature", func(r *reader, p *provider.Params, n ast.Node) { p.Temperature = r.number(n, "temperature", 0, 2) }},
		{"top_p", func(r *reader, p *provider.Params, n ast.Node) { p.TopP = r.number(n, "top_p", 0, 1) }},
		{"max_tokens", func(r *reader, p *provider.Params, n ast.Node) {
			if v := r.integer(n, "max_tokens", 1, math.MaxInt32); v.given() {
				tokens := int(v.value)
				p.MaxTokens = &tokens
			}
		}},
		{"seed", func(r *reader, p *provider.Params, n ast.Node) {
			if v := r.integer(n, "seed", math.MinInt64, math.MaxInt64); v.given() {
				p.Seed = &v.value
			}
		}},
		{"stop", readStop},
	}
	budgetKeys = []key[budgetSpec]{
		{"attempts", func(r *reader, b *budgetSpec, n ast.Node) { b.attempts = r.integer(n, "attempts", 1, maxAttempts) }},
		{"per_attempt", func(r *reader, b *budgetSpec, n ast.Node) { b.perAttempt = r.duration(n, "per_attempt") }},
		{"total", func(r *reader, b *budgetSpec, n ast.Node) { b.total = r.duration(n, "total") }},
		{"backoff", func(r *reader, b *budgetSpec, n ast.Node) { b.backoff = r.duration(n, "backoff") }},
	}
	abstainKeys = []key[abstainSpec]{
		{"on", func(r *reader, a *abstainSpec, n ast.Node) { a.on = r.expression(n, "on") }},
		{"to", func(r *reader, a *abstainSpec, n ast.Node) { a.to = r.expression(n, "to") }},
	}
)

// Bounds of a flow.
const (
	maxSteps    = 1000
	maxAttempts = 100
	maxStops    = 16
)

// readFlow reads a flow file; nil when there is nothing to go on with.
func readFlow(file string, data []byte, found *findings) *flowSpec {
	doc := parseYAML(file, data, found)
	if doc == nil {
		return nil
	}
	r := &reader{file: file, doc: doc, found: found}
	spec := &flowSpec{}
	if !readMapping(r, doc.root, "the flow", flowKeys, spec) {
		return nil
	}
	return spec
}

func readSteps(r *reader, f *flowSpec, n ast.Node) {
	f.hasSteps = true
	entries := r.sequence(n, "steps")
	if len(entries) == 0 && entries != nil {
		r.problem(n, "the flow has no steps")
	}
	if len(entries) > maxSteps {
		r.problem(n, "more than %d steps", maxSteps)
		return
	}
	for _, entry := range entries {
		s := &stepSpec{at: place(entry)}
		if readMapping(r, entry, "a step", stepKeys, s) {
			f.steps = append(f.steps, s)
		}
	}
}

// readNeeds reads the edges: step ids, or mappings of step and mode.
func readNeeds(r *reader, s *stepSpec, n ast.Node) {
	for _, entry := range r.sequence(n, "needs") {
		var need needSpec
		switch e := r.resolve(entry).(type) {
		case *ast.MappingNode, *ast.MappingValueNode:
			if readMapping(r, e, "an entry of needs", needKeys, &need) && !need.step.given() {
				r.problem(e, "an entry of needs names no step")
			}
		default:
			need.step = r.text(e, "an entry of needs")
		}
		if need.step.value != "" {
			s.needs = append(s.needs, need)
		}
	}
}

func readMode(r *reader, e *needSpec, n ast.Node) {
	t := r.text(n, "mode")
	for i, name := range modeNames {
		if t.value == name {
			e.mode = Mode(i)
			return
		}
	}
	if t.value != "" {
		r.problem(n, "unknown mode %q: the modes are require, optional and always%s", t.value, Suggest(t.value, modeNames[:]))
	}
}

func readRequires(r *reader, s *stepSpec, n ast.Node) {
	s.requires.at = place(n)
	for _, entry := range r.sequence(n, "requires") {
		t := r.text(entry, "an entry of requires")
		if t.value == "" {
			continue
		}
		c, err := provider.ParseCapability(t.value)
		if err != nil {
			names := capabilityNames(^provider.Capabilities(0))
			r.problem(entry, "unknown capability %q: there are %s%s", t.value, list(names, "none"), Suggest(t.value, names))
			continue
		}
		s.requires.value |= provider.CapabilitiesOf(c)
	}
}

// capabilityNames lists the capabilities of a set, in their order.
func capabilityNames(set provider.Capabilities) []string {
	var names []string
	for _, c := range provider.AllCapabilities() {
		if set.Has(provider.CapabilitiesOf(c)) {
			names = append(names, c.String())
		}
	}
	return names
}

func readParams(r *reader, s *stepSpec, n ast.Node) {
	s.params.at = place(n)
	readMapping(r, n, "params", paramKeys, &s.params.value)
}

func readStop(r *reader, p *provider.Params, n ast.Node) {
	entries := r.sequence(n, "stop")
	if len(entries) > maxStops {
		r.problem(n, "more than %d stop sequences", maxStops)
	}
	for _, entry := range entries {
		// A stop sequence may be blank space, which text would refuse.
		if s, ok := r.resolve(entry).(*ast.StringNode); ok && s.Value != "" {
			p.Stop = append(p.Stop, s.Value)
		} else if t := r.text(entry, "an entry of stop"); t.value != "" {
			p.Stop = append(p.Stop, t.value)
		}
	}
}

func readBudget(r *reader, s *stepSpec, n ast.Node) {
	s.budget.at = place(n)
	s.budget.value.refused = !readMapping(r, n, "budget", budgetKeys, &s.budget.value)
}

func readAbstain(r *reader, s *stepSpec, n ast.Node) {
	s.abstain.at = place(n)
	s.abstain.value.refused = !readMapping(r, n, "abstain", abstainKeys, &s.abstain.value)
}

func readOnItemFailure(r *reader, s *stepSpec, n ast.Node) {
	t := r.text(n, "on_item_failure")
	switch t.value {
	case "":
	case "fail", "degrade":
		s.onItemFailure = located[bool]{t.value == "degrade", t.at}
	default:
		r.problem(n, "on_item_failure must be fail or degrade%s", Suggest(t.value, []string{"fail", "degrade"}))
	}
}

// expression reads the text of an expression. YAML's own lists and mappings are a likely slip here: to: [].
func (r *reader) expression(n ast.Node, what string) text {
	switch r.resolve(n).(type) {
	case *ast.SequenceNode, *ast.MappingNode, *ast.MappingValueNode:
		r.problem(n, "%s must be an expression in quotes, such as '[]'", what)
		return text{at: place(n)}
	case *ast.NullNode:
		r.problem(n, "%s must be an expression; for null write 'nil'", what)
		return text{at: place(n)}
	}
	t := r.text(n, what)
	if len(t.value) > maxExpression {
		r.problem(n, "%s is longer than %d bytes", what, maxExpression)
		return text{at: t.at}
	}
	return t
}
