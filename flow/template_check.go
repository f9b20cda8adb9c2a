package flow

import (
	"fmt"
	"text/template/parse"
)

// templateCheck walks a template: it notes what the template reads, refuses what is not there, and adds what
// every execution needs: values printed as text or JSON, and a piece of output for each round of a loop.
type templateCheck struct {
	sees     scope
	source   string
	defined  map[string]bool // templates of the file
	uses     usage
	refusals []refusal
}

// where says what the dot and the dollar stand for at some place in a template.
type where struct {
	dot    bool // the dot is the template's data
	dollar bool // the dollar is the template's data: everywhere but in a {{define}}
}

func (c *templateCheck) refuse(at parse.Pos, format string, args ...any) {
	c.refusals = append(c.refusals, refusal{int(at), fmt.Sprintf(format, args...)})
}

func (c *templateCheck) tree(t *parse.Tree, main bool) {
	if t == nil || t.Root == nil {
		return
	}
	c.list(t.Root, where{main, main}, t)
	counted(t.Root)
}

// counted makes each run of a list write at least an empty piece.
func counted(l *parse.ListNode) {
	l.Nodes = append([]parse.Node{&parse.TextNode{NodeType: parse.NodeText, Pos: l.Pos}}, l.Nodes...)
}

func (c *templateCheck) list(l *parse.ListNode, w where, t *parse.Tree) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			c.pipe(n.Pipe, w)
			if len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, printed(n.Pipe, t))
			}
		case *parse.IfNode:
			c.pipe(n.Pipe, w)
			c.list(n.List, w, t)
			c.list(n.ElseList, w, t)
		case *parse.WithNode:
			c.pipe(n.Pipe, w)
			c.list(n.List, where{dollar: w.dollar}, t)
			c.list(n.ElseList, w, t)
		case *parse.RangeNode:
			c.pipe(n.Pipe, w)
			c.list(n.List, where{dollar: w.dollar}, t)
			c.list(n.ElseList, w, t)
			counted(n.List)
		case *parse.TemplateNode:
			if !c.defined[n.Name] {
				c.refuse(n.Pos, "there is no template %q in the file", n.Name)
			}
			c.pipe(n.Pipe, w)
		}
	}
}

// printed is the command that ends every printing pipeline: {{.input.title}} prints as {{.input.title | _text}}.
func printed(p *parse.PipeNode, t *parse.Tree) *parse.CommandNode {
	name := parse.NewIdentifier(textFunction).SetTree(t).SetPos(p.Pos)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: p.Pos, Args: []parse.Node{name}}
}

func (c *templateCheck) pipe(p *parse.PipeNode, w where) {
	if p == nil {
		return
	}
	for _, cmd := range p.Cmds {
		c.command(cmd, w)
	}
}

func (c *templateCheck) command(cmd *parse.CommandNode, w where) {
	if f, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		switch {
		case refusedFunctions[f.Ident]:
			c.refuse(f.Pos, "there is no function %s", f.Ident)
		case f.Ident == stepFunction:
			c.stepCall(cmd, f, w)
			return
		case f.Ident == "index" && len(cmd.Args) > 2 && isSteps(cmd.Args[1], w):
			if id, ok := cmd.Args[2].(*parse.StringNode); ok {
				if c.step(id.Text, int(id.Pos)) {
					id.Text = c.sees.needs[id.Text]
				}
				for _, arg := range cmd.Args[3:] {
					c.node(arg, w)
				}
				return
			}
		}
	}
	for _, arg := range cmd.Args {
		c.node(arg, w)
	}
}

// stepCall turns step "classify-tables" into index $.steps "classify-tables".
func (c *templateCheck) stepCall(cmd *parse.CommandNode, f *parse.IdentifierNode, w where) {
	if len(cmd.Args) != 2 || cmd.Args[1].Type() != parse.NodeString {
		c.refuse(f.Pos, `step takes the id of a step in quotes: step "extract"`)
		return
	}
	if !w.dollar {
		c.refuse(f.Pos, "step cannot be used within define; pass the value in")
		return
	}
	id := cmd.Args[1].(*parse.StringNode)
	if c.step(id.Text, int(id.Pos)) {
		id.Text = c.sees.needs[id.Text]
		f.Ident = "index"
		steps := &parse.VariableNode{NodeType: parse.NodeVariable, Pos: f.Pos, Ident: []string{"$", "steps"}}
		cmd.Args = []parse.Node{f, steps, id}
	}
}

func (c *templateCheck) node(n parse.Node, w where) {
	switch n := n.(type) {
	case *parse.DotNode:
		if w.dot {
			c.everything()
		}
	case *parse.FieldNode:
		if w.dot {
			c.path(n.Ident, int(n.Pos))
		}
	case *parse.VariableNode:
		if n.Ident[0] != "$" || !w.dollar {
			return
		}
		if len(n.Ident) == 1 {
			c.everything()
			return
		}
		c.path(n.Ident[1:], int(n.Pos))
	case *parse.ChainNode:
		c.node(n.Node, w)
		if inner, ok := n.Node.(*parse.PipeNode); ok && c.isStep(inner, w) {
			if message := refuseParentField(n.Field[0]); message != "" {
				c.refuse(n.Pos, "%s", message)
			}
		}
	case *parse.PipeNode:
		c.pipe(n, w)
	case *parse.CommandNode:
		c.command(n, w)
	}
}

// path judges .input.title, .steps.extract.value and the like; names that stand for a step become its id.
func (c *templateCheck) path(names []string, at int) {
	if len(names) > 1 {
		at = c.startOf(names[0], at)
	}
	switch names[0] {
	case "input":
		c.uses.input = true
	case "item", "index":
		c.uses.item = true
		if !c.sees.item {
			c.refuse(parse.Pos(at), ".%s %s", names[0], noItem)
		}
	case "steps":
		if len(names) == 1 {
			c.uses.allSteps = true
			return
		}
		if c.step(names[1], at) {
			names[1] = c.sees.needs[names[1]]
		}
		if len(names) > 2 {
			if message := refuseParentField(names[2]); message != "" {
				c.refuse(parse.Pos(at), "%s", message)
			}
		}
	default:
		known := []string{"input", "steps"}
		if c.sees.item {
			known = append(known, "item", "index")
		}
		c.refuse(parse.Pos(at), "there is no .%s: a template sees .%s%s", names[0], list(dotted(known), ""), Suggest(names[0], known))
	}
}

// dotted puts a dot before all names but the first, whose dot stands in the message.
func dotted(names []string) []string {
	for i := 1; i < len(names); i++ {
		names[i] = "." + names[i]
	}
	return names
}

// startOf finds where a path begins: the library says where its second name stands.
func (c *templateCheck) startOf(first string, at int) int {
	if start := at - len(first) - 1; start >= 0 && start+1+len(first) <= len(c.source) && c.source[start+1:start+1+len(first)] == first {
		return start
	}
	return at
}

// step notes that a step is read, or why it cannot be.
func (c *templateCheck) step(name string, at int) bool {
	if message := c.sees.refuseStep(name, templateForm); message != "" {
		c.refuse(parse.Pos(at), "%s", message)
		return false
	}
	c.uses.steps[c.sees.needs[name]] = true
	return true
}

func (c *templateCheck) everything() {
	c.uses.input, c.uses.allSteps, c.uses.item = true, true, c.sees.item
}

func isSteps(n parse.Node, w where) bool {
	switch n := n.(type) {
	case *parse.FieldNode:
		return w.dot && len(n.Ident) == 1 && n.Ident[0] == "steps"
	case *parse.VariableNode:
		return w.dollar && len(n.Ident) == 2 && n.Ident[0] == "$" && n.Ident[1] == "steps"
	}
	return false
}

// isStep says whether a pipeline in parentheses is one step by name, as in (index .steps "x").value.
func (c *templateCheck) isStep(p *parse.PipeNode, w where) bool {
	if len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 3 || !isSteps(p.Cmds[0].Args[1], w) {
		return false
	}
	f, ok := p.Cmds[0].Args[0].(*parse.IdentifierNode)
	_, named := p.Cmds[0].Args[2].(*parse.StringNode)
	return ok && named && f.Ident == "index"
}
