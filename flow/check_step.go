package flow

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/expr-lang/expr"

	"fourfold/executor"
)

// step checks one step and compiles what it is made of.
func (c *checker) step(s *stepSpec) *Step {
	c.kindOfStep(s)
	c.budget(s)
	c.items(s)
	made := &Step{
		Handler:  s.handler.value,
		Chain:    s.chain.value,
		Requires: s.requires.value,
		Params:   s.params.value,
		Budget: executor.Budget{
			Attempts:   int(s.budget.value.attempts.value),
			PerAttempt: s.budget.value.perAttempt.value,
			Total:      s.budget.value.total.value,
			Backoff:    s.budget.value.backoff.value,
		},
		MaxWait: s.maxWait.value,
	}
	made.ID, _ = executor.ParseStepID(s.id.value)
	if made.Chain == "" && made.Handler == "" {
		made.Chain = defaultChain
	}
	if made.Handler != "" && !s.budget.given() {
		made.Budget = handlerBudget
		if deadline := c.flow.deadline.value; deadline > 0 {
			made.Budget.Total = min(made.Budget.Total, deadline)
			made.Budget.PerAttempt = min(made.Budget.PerAttempt, deadline)
		}
	}
	if s.forEach.given() {
		made.ForEach = &ForEach{MaxInFlight: int(s.maxInFlight.value), DegradeFailed: s.onItemFailure.value}
	}
	c.compile(s, made)
	return made
}

// defaultChain is the chain of a prompt that names none.
const defaultChain = "default"

// handlerBudget bounds a step with a handler that names no budget: a Go function is no model, and one number fits most.
var handlerBudget = executor.Budget{Attempts: 3, PerAttempt: 10 * time.Second, Total: 30 * time.Second}

// compile compiles the files and expressions of a step.
func (c *checker) compile(s *stepSpec, made *Step) {
	sees := c.scope(s)
	whole := sees // for the step as a whole there is no item
	whole.item = false
	code := &made.code
	code.file = c.file
	if s.system.value != "" {
		code.system = c.compileTemplate("system", s.system, sees)
	}
	if s.prompt.value != "" {
		code.prompt = c.compileTemplate("prompt", s.prompt, sees)
	}
	if s.output.value != "" {
		code.output = c.compileSchema(s.id.value, s.output)
	}
	if s.abstain.given() {
		c.abstain(s, made, whole)
	}
	if s.degradeTo.value != "" {
		code.degradeTo = c.compileExpression("degrade_to", s.degradeTo, sees)
		c.fold(code.degradeTo, code.output.validate)
	}
	if s.forEach.value != "" {
		code.forEach = c.compileExpression("for_each", s.forEach, whole)
		c.fold(code.forEach, isItems)
	}
}

func (c *checker) abstain(s *stepSpec, made *Step, sees scope) {
	on, to := s.abstain.value.on, s.abstain.value.to
	for _, half := range []struct {
		key string
		text
	}{{"on", on}, {"to", to}} {
		if !half.given() && !s.abstain.value.refused {
			c.problem(s.abstain.at, "abstain needs both on and to; %s is missing", half.key)
		}
	}
	if on.value != "" {
		made.code.abstainOn = c.compileExpression("abstain.on", on, sees, expr.AsBool())
		c.fold(made.code.abstainOn, isBool)
	}
	if to.value != "" {
		made.code.abstainTo = c.compileExpression("abstain.to", to, sees)
		c.fold(made.code.abstainTo, made.fitsWhole)
	}
}

// fold evaluates an expression that depends on no input now, so that what is wrong with its value is known now.
func (c *checker) fold(e *expression, fits func(json.RawMessage) error) {
	if e == nil || !e.uses.none() {
		return
	}
	v, at, err := e.run(map[string]any{})
	if err == nil {
		e.constant, err = encode(v)
	}
	if err == nil {
		err = fits(e.constant)
	}
	if err != nil {
		c.problem(at, "%s: %v", e.name, err)
	}
}

func (c *checker) scope(s *stepSpec) scope {
	sees := scope{step: s.id.value, needs: map[string]string{}, allSteps: c.byID, item: s.forEach.given()}
	for _, need := range s.needs {
		id := need.step.value
		sees.needs[id], sees.needs[alias(id)] = id, id
	}
	return sees
}

// namePattern is what a chain or handler may be named.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// kindOfStep checks that a step is a prompt or a handler, with only what belongs to it.
func (c *checker) kindOfStep(s *stepSpec) {
	switch {
	case s.handler.given() && s.prompt.given():
		c.problem(s.handler.at, "a step has a prompt or a handler, not both")
		return
	case !s.handler.given() && !s.prompt.given():
		c.problem(s.at, "a step needs a prompt or a handler")
		return
	}
	for _, named := range []text{s.handler, s.chain} {
		if named.value != "" && !namePattern.MatchString(named.value) {
			c.problem(named.at, "the name of a chain or handler must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}")
		}
	}
	if !s.handler.given() {
		return
	}
	for _, k := range []struct {
		key string
		at  position
	}{{"system", s.system.at}, {"chain", s.chain.at}, {"requires", s.requires.at}, {"params", s.params.at}} {
		if k.at != (position{}) {
			c.problem(k.at, "%s is for prompts; this step has a handler", k.key)
		}
	}
}

// budget checks that a budget is whole and can be kept. A handler may do without.
func (c *checker) budget(s *stepSpec) {
	const required = "attempts, per_attempt and total are required"
	if !s.budget.given() {
		if s.prompt.given() {
			c.problem(s.at, "a prompt needs a budget: %s", required)
		}
		return
	}
	b := s.budget.value
	for _, part := range []struct {
		key string
		at  position
	}{{"attempts", b.attempts.at}, {"per_attempt", b.perAttempt.at}, {"total", b.total.at}} {
		if part.at == (position{}) && !b.refused {
			c.problem(s.budget.at, "the budget lacks %s: %s", part.key, required)
		}
	}
	c.fits("per_attempt", b.perAttempt, "total", b.total.value)
	c.fits("backoff", b.backoff, "total", b.total.value)
	c.fits("total", b.total, "the flow's deadline", c.flow.deadline.value)
}

// fits checks that one time is not longer than another; zero is one that is not there.
func (c *checker) fits(key string, d located[time.Duration], bound string, limit time.Duration) {
	if limit > 0 && d.value > limit {
		c.problem(d.at, "%s (%v) is longer than %s (%v)", key, d.value, bound, limit)
	}
}

// items checks that what belongs to for_each stands with it.
func (c *checker) items(s *stepSpec) {
	if s.forEach.given() {
		return
	}
	for _, k := range []struct {
		key string
		at  position
	}{{"max_in_flight", s.maxInFlight.at}, {"on_item_failure", s.onItemFailure.at}} {
		if k.at != (position{}) {
			c.problem(k.at, "%s is for steps with for_each", k.key)
		}
	}
}
