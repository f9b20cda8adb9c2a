package flow

import (
	"encoding/json"
	"errors"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// Bounds of an expression.
const (
	maxExpression  = 64 << 10 // bytes
	maxIterations  = 2_000_000
	maxNodes       = 10_000
	maxAllocations = 4_000_000 // list elements and object fields that one evaluation makes
)

// expression is a compiled expression of a step.
type expression struct {
	name     string // of the key, such as abstain.on
	source   source
	program  *vm.Program
	uses     usage
	constant json.RawMessage // the result, when it depends on no input
}

// compileExpression checks and compiles an expression; nil when it has problems, which are then noted. The types
// that static options ask for are checked where they are known; what they are at run time is for the caller.
func (c *checker) compileExpression(name string, t text, sees scope, static ...expr.Option) *expression {
	options := expressionOptions(sees)
	config := conf.CreateNew()
	for _, option := range options {
		option(config)
	}
	src := withObjects(t)
	tree, err := parser.ParseWithConfig(src.code, config)
	if err != nil {
		c.expressionProblem(name, src, err)
		return nil
	}
	check := expressionCheck{sees: sees, declared: map[string]bool{}}
	ast.Walk(&tree.Node, &check)
	uses := check.usage()
	if len(check.refusals) > 0 {
		for _, r := range check.refusals {
			c.found.add(c.file, src.place(r.offset), "%s: %s", name, r.message)
		}
		return nil
	}
	program, err := expr.Compile(src.code, options...)
	if err == nil && len(static) > 0 {
		_, err = expr.Compile(src.code, append(options, static...)...)
	}
	if err != nil {
		c.expressionProblem(name, src, err)
		return nil
	}
	return &expression{name: name, source: src, program: program, uses: uses}
}

func (c *checker) expressionProblem(name string, src source, err error) {
	var located *file.Error
	if errors.As(err, &located) {
		c.found.add(c.file, src.place(located.From), "%s: %s", name, located.Message)
		return
	}
	c.found.add(c.file, src.text.at, "%s: %v", name, err)
}

// run evaluates the expression. Its error is one of this package's fixed ones, with the place in the expression.
func (e *expression) run(env map[string]any) (any, position, error) {
	env[meterVariable] = new(meter)
	machine := vm.VM{MemoryBudget: maxAllocations}
	v, err := machine.Run(e.program, env)
	if err == nil {
		return v, e.source.text.at, nil
	}
	at := e.source.text.at
	if located := (*file.Error)(nil); errors.As(err, &located) {
		at = e.source.place(located.From)
	}
	for _, known := range []error{errTooMuch, errTooLarge, errTooDeep, errNotAValue, errNotJSON} {
		if errors.Is(err, known) {
			return nil, at, known
		}
	}
	return nil, at, errUnreadable // the library's text may quote values
}

// expressionOptions is the world of an expression: its variables and functions.
func expressionOptions(sees scope) []expr.Option {
	parent := types.Map{"value": types.Any, "outcome": types.String}
	steps := types.Map{}
	for name := range sees.needs {
		steps[name] = parent
	}
	env := types.Map{"input": types.Any, "steps": steps, meterVariable: types.Any}
	if sees.item {
		env["item"], env["index"] = types.Any, types.Int
	}
	options := []expr.Option{expr.Env(env), expr.MaxNodes(maxNodes), expr.Patch(rewriter{sees})}
	for name := range unavailable {
		options = append(options, expr.DisableBuiltin(name))
	}
	for name, f := range functions {
		options = append(options, expr.Function(name, f))
	}
	return options
}

// unavailable are expr's functions whose result depends on more than their arguments.
var unavailable = map[string]bool{"now": true, "date": true, "duration": true, "timezone": true}

// expressionCheck walks an expression and notes what it reads.
type expressionCheck struct {
	sees          scope
	declared      map[string]bool // by let
	names         []*ast.IdentifierNode
	steps         []string // read by name
	stepsMentions int
	refusals      []refusal
}

// refusal is a problem at an offset, in characters of an expression or bytes of a template.
type refusal struct {
	offset  int
	message string
}

func (c *expressionCheck) refuse(n ast.Node, message string) {
	c.refusals = append(c.refusals, refusal{n.Location().From, message})
}

// Visit sees every node after the nodes below it.
func (c *expressionCheck) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.VariableDeclaratorNode:
		c.declared[n.Name] = true
	case *ast.IdentifierNode:
		c.names = append(c.names, n)
	case *ast.CallNode:
		if f, ok := n.Callee.(*ast.IdentifierNode); ok && unavailable[f.Value] {
			c.refuse(n, "there is no "+f.Value+"(): an expression gives the same result whenever it is evaluated")
		}
	case *ast.MemberNode:
		path := memberPath(n)
		if len(path) < 2 || path[0] != "steps" {
			return
		}
		if len(path) == 2 {
			c.steps = append(c.steps, path[1])
			if message := c.sees.refuseStep(path[1], expressionForm); message != "" {
				c.refuse(n, message)
			}
		}
		if len(path) == 3 {
			if message := refuseParentField(path[2]); message != "" {
				c.refuse(n, message)
			}
		}
	}
}

// usage says which inputs have to be there. It judges the names, which takes all declarations to be known.
func (c *expressionCheck) usage() usage {
	u := usage{steps: map[string]bool{}}
	for _, n := range c.names {
		if c.declared[n.Value] {
			continue
		}
		switch n.Value {
		case "$env":
			c.refuse(n, "there is no $env; name input or steps")
		case "input":
			u.input = true
		case "steps":
			c.stepsMentions++
		case "item", "index":
			u.item = true
			if !c.sees.item {
				c.refuse(n, n.Value+" "+noItem)
			}
		}
	}
	u.allSteps = c.stepsMentions > len(c.steps)
	for _, name := range c.steps {
		u.steps[c.sees.needs[name]] = true
	}
	return u
}

// memberPath is the names of a chain of members by constant name, such as steps, extract, value; nil for others.
func memberPath(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return []string{n.Value}
	case *ast.ChainNode:
		return memberPath(n.Node)
	case *ast.MemberNode:
		property, ok := n.Property.(*ast.StringNode)
		if path := memberPath(n.Node); ok && path != nil {
			return append(path, property.Value)
		}
	}
	return nil
}
