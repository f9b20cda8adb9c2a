package flow

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// Names of what the rewriter puts into expressions. They cannot be written by hand.
const (
	meterVariable = "meter!"
	meterFunction = "count!"
	boundFunction = "bound!"
	wideFunction  = "wide!"
)

// meter counts the iterations of one evaluation.
type meter struct{ iterations int }

// functions are added to expr's own, or stand in their place: keys, values and toPairs in a fixed order, the
// conversions true to JSON, and those that multiply lengths within bounds.
var functions = map[string]func(...any) (any, error){
	meterFunction: func(args ...any) (any, error) {
		m := args[0].(*meter)
		if m.iterations++; m.iterations > maxIterations {
			return nil, errTooMuch
		}
		return args[1], nil
	},
	boundFunction: func(args ...any) (any, error) {
		if s, ok := args[0].(string); ok && len(s) > maxOutput {
			return nil, errTooLarge
		}
		return args[0], nil
	},
	wideFunction: func(args ...any) (any, error) { return wide(args[0]), nil },
	"keys": func(args ...any) (any, error) {
		return eachField(args, func(key string, _ any) any { return key })
	},
	"values": func(args ...any) (any, error) {
		return eachField(args, func(_ string, value any) any { return value })
	},
	"toPairs": func(args ...any) (any, error) {
		return eachField(args, func(key string, value any) any { return []any{key, value} })
	},
	"toJSON": func(args ...any) (any, error) {
		if len(args) != 1 {
			return nil, errUnreadable
		}
		text, err := encode(args[0])
		return string(text), err
	},
	"fromJSON": func(args ...any) (any, error) {
		text, ok := only[string](args)
		if !ok {
			return nil, errUnreadable
		}
		return decode([]byte(text))
	},
	"string": func(args ...any) (any, error) {
		if len(args) != 1 {
			return nil, errUnreadable
		}
		return textOf(args[0])
	},
	"repeat": func(args ...any) (any, error) {
		if len(args) != 2 {
			return nil, errUnreadable
		}
		s, ok := args[0].(string)
		n, isInt := args[1].(int)
		switch {
		case !ok || !isInt || n < 0:
			return nil, errUnreadable
		case len(s) > 0 && n > maxOutput/len(s):
			return nil, errTooLarge
		}
		return strings.Repeat(s, n), nil
	},
	"replace": func(args ...any) (any, error) {
		words, ok := allStrings(args)
		if !ok || len(words) != 3 {
			return nil, errUnreadable
		}
		s, from, to := words[0], words[1], words[2]
		if n := strings.Count(s, from); n > 0 && len(to) > (maxOutput-len(s))/n {
			return nil, errTooLarge
		}
		return strings.ReplaceAll(s, from, to), nil
	},
	"join": func(args ...any) (any, error) {
		if len(args) == 1 {
			args = append(args, "")
		}
		if len(args) != 2 {
			return nil, errUnreadable
		}
		separator, ok := args[1].(string)
		if !ok {
			return nil, errUnreadable
		}
		return joinText(args[0], separator)
	},
}

// only returns the one argument when it is there and of type T.
func only[T any](args []any) (v T, ok bool) {
	if len(args) != 1 {
		return v, false
	}
	v, ok = args[0].(T)
	return v, ok
}

func allStrings(args []any) ([]string, bool) {
	words := make([]string, len(args))
	for i, a := range args {
		s, ok := a.(string)
		if !ok {
			return nil, false
		}
		words[i] = s
	}
	return words, true
}

// eachField maps the fields of an object, in the order of their names.
func eachField(args []any, f func(string, any) any) (any, error) {
	object, ok := only[map[string]any](args)
	if !ok {
		return nil, errUnreadable
	}
	made := make([]any, 0, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		made = append(made, f(key, object[key]))
	}
	return made, nil
}

// textOf is a value as text: strings as they are, everything else as JSON.
func textOf(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	text, err := encode(v)
	return string(text), err
}

// joinText joins the elements of a list as text.
func joinText(list any, separator string) (string, error) {
	var elements []any
	switch l := list.(type) {
	case []any:
		elements = l
	case []string:
		for _, s := range l {
			elements = append(elements, s)
		}
	default:
		return "", errUnreadable
	}
	var b strings.Builder
	for i, e := range elements {
		s, err := textOf(e)
		if err != nil {
			return "", err
		}
		if b.Len()+len(separator)+len(s) > maxOutput {
			return "", errTooLarge
		}
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// rewriter changes an expression before it is compiled: it counts iterations, bounds sums of strings, lets
// arithmetic take numbers that are kept as text, and turns steps.classify_tables into the step's id.
type rewriter struct{ sees scope }

// Visit sees every node after the nodes below it.
func (r rewriter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		n.Node = call(meterFunction, n.Node, &ast.IdentifierNode{Value: meterVariable}, n.Node)
	case *ast.BinaryNode:
		switch n.Operator {
		case "<", "<=", ">", ">=", "==", "!=", "+", "-", "*", "/", "%", "^", "**":
			n.Left, n.Right = widened(n.Left), widened(n.Right)
		}
		if n.Operator == "+" {
			ast.Patch(node, call(boundFunction, n, n))
		}
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			n.Node = widened(n.Node)
		}
	case *ast.BuiltinNode:
		switch n.Name {
		case "abs", "ceil", "floor", "round", "int", "float":
			for i, argument := range n.Arguments {
				n.Arguments[i] = widened(argument)
			}
		}
	case *ast.MemberNode:
		root, ok := n.Node.(*ast.IdentifierNode)
		property, isName := n.Property.(*ast.StringNode)
		if ok && isName && root.Value == "steps" {
			if id, ok := r.sees.needs[property.Value]; ok {
				property.Value = id
			}
		}
	}
}

// widened wraps an operand that may turn out to be a number kept as text.
func widened(n ast.Node) ast.Node {
	switch n.(type) {
	case *ast.MemberNode, *ast.PointerNode, *ast.IdentifierNode, *ast.ChainNode, *ast.ConditionalNode, *ast.BuiltinNode:
		return call(wideFunction, n, n)
	}
	return n
}

func call(function string, at ast.Node, arguments ...ast.Node) ast.Node {
	callee := &ast.IdentifierNode{Value: function}
	n := &ast.CallNode{Callee: callee, Arguments: arguments}
	callee.SetLocation(at.Location())
	n.SetLocation(at.Location())
	return n
}
