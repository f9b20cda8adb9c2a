package flow

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// reader takes typed values out of a flow file's syntax tree and notes what is wrong with them.
type reader struct {
	file  string
	doc   *document
	found *findings
}

// key is one key that a mapping of the flow file may have.
type key[T any] struct {
	name string
	read func(r *reader, into *T, value ast.Node)
}

// text is a scalar of the flow file as it was written. The zero value is a scalar that is not there; one without a
// value is a scalar that was refused.
type text struct {
	value string
	at    position
	lines []position // where each line of value starts in the file; nil: not known
}

func (t text) given() bool { return t.at != position{} }

// place translates an offset in the value, in characters, to a place in the file: exactly where the value
// stands there word for word, or else to where it begins.
func (t text) place(offset int) position {
	runes := []rune(t.value)
	if t.lines == nil || offset > len(runes) {
		return t.at
	}
	line, column := 0, 0
	for _, r := range runes[:offset] {
		if column++; r == '\n' {
			line, column = line+1, 0
		}
	}
	if line >= len(t.lines) {
		return t.at
	}
	return position{t.lines[line].line, t.lines[line].column + column}
}

func (r *reader) problem(n ast.Node, format string, args ...any) {
	r.found.add(r.file, place(n), format, args...)
}

// readMapping reads a mapping by its table of keys. Unknown and repeated keys, and what is no mapping at all, are
// problems; false means that nothing was read.
func readMapping[T any](r *reader, n ast.Node, what string, keys []key[T], into *T) bool {
	n = r.resolve(n)
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		r.problem(n, "%s must be a mapping, not %s", what, kindOf(n))
		return false
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		name := entry.Key.GetToken().Value
		if entry.Key.IsMergeKey() {
			r.problem(entry.Key, "merge keys (<<) are not supported")
			continue
		}
		i := slices.IndexFunc(keys, func(k key[T]) bool { return k.name == name })
		switch {
		case i < 0:
			r.problem(entry.Key, "%s has no key %q%s", what, name, Suggest(name, keyNames(keys)))
		case seen[name]:
			r.problem(entry.Key, "%s has the key %q twice", what, name)
		default:
			keys[i].read(r, into, entry.Value)
		}
		seen[name] = true
	}
	return true
}

func keyNames[T any](keys []key[T]) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}

// resolve follows anchors and aliases to the node that they stand for.
func (r *reader) resolve(n ast.Node) ast.Node {
	for range maxNesting {
		switch v := n.(type) {
		case *ast.AnchorNode:
			n = v.Value
		case *ast.AliasNode:
			target, ok := r.doc.anchors[v.Value.GetToken().Value]
			if !ok {
				return n
			}
			n = target
		default:
			return n
		}
	}
	return n
}

// sequence returns the entries of a list, or nil for what is no list: a single value does not stand for a list of
// one.
func (r *reader) sequence(n ast.Node, what string) []ast.Node {
	n = r.resolve(n)
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		r.problem(n, "%s must be a list, not %s", what, kindOf(n))
		return nil
	}
	return append([]ast.Node{}, s.Values...)
}

// text reads a scalar, whatever YAML takes it for: `id: 1` is the id "1".
func (r *reader) text(n ast.Node, what string) text {
	n = r.resolve(n)
	t := text{at: place(n)}
	switch v := n.(type) {
	case *ast.StringNode:
		t.value = v.Value
		t.lines = r.quotedLines(v)
	case *ast.LiteralNode:
		t.value = v.Value.Value
		t.lines = r.literalLines(t)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		t.value = n.GetToken().Value
		t.lines = []position{t.at}
	default:
		r.problem(n, "%s must be text, not %s", what, kindOf(n))
		return text{at: t.at}
	}
	if strings.TrimSpace(t.value) == "" {
		r.problem(n, "%s is empty", what)
		return text{at: t.at}
	}
	return t
}

// quotedLines finds a plain or quoted scalar of one line in the file.
func (r *reader) quotedLines(n *ast.StringNode) []position {
	at := place(n)
	if n.Token.Type != token.StringType {
		at.column++ // the quote
	}
	if strings.HasPrefix(r.after(at), n.Value) {
		return []position{at}
	}
	return nil
}

// literalLines finds the lines of a block scalar in the file.
func (r *reader) literalLines(t text) []position {
	var lines []position
	for i, line := range strings.Split(strings.TrimRight(t.value, "\n"), "\n") {
		source := r.after(position{t.at.line + 1 + i, 1})
		before, _, ok := strings.Cut(source, line)
		if !ok {
			return nil // folded
		}
		lines = append(lines, position{t.at.line + 1 + i, len([]rune(before)) + 1})
	}
	return lines
}

// after returns what stands at a place, up to the end of the line.
func (r *reader) after(at position) string {
	if at.line > len(r.doc.lines) || at.column-1 > len(r.doc.lines[at.line-1]) {
		return ""
	}
	return string(r.doc.lines[at.line-1][at.column-1:])
}

// duration reads a positive Go duration; zero is one that was refused.
func (r *reader) duration(n ast.Node, what string) located[time.Duration] {
	n = r.resolve(n)
	t := r.text(n, what)
	if t.value == "" {
		return located[time.Duration]{at: t.at}
	}
	d, err := time.ParseDuration(t.value)
	switch {
	case err != nil:
		r.problem(n, "%s must be a duration with a unit, such as 20s or 1m30s", what)
		d = 0
	case d <= 0:
		r.problem(n, "%s must be longer than zero", what)
		d = 0
	}
	return located[time.Duration]{d, t.at}
}

// integer reads a whole number within bounds; zero is also one that was refused.
func (r *reader) integer(n ast.Node, what string, low, high int64) located[int64] {
	n = r.resolve(n)
	v, err := strconv.ParseInt(n.GetToken().Value, 10, 64)
	if _, ok := n.(*ast.IntegerNode); !ok || err != nil {
		r.problem(n, "%s must be a whole number", what)
		return located[int64]{at: place(n)}
	}
	if v < low || v > high {
		r.problem(n, "%s must be from %d to %d", what, low, high)
		return located[int64]{at: place(n)}
	}
	return located[int64]{v, place(n)}
}

// number reads a number within bounds.
func (r *reader) number(n ast.Node, what string, low, high float64) *float64 {
	n = r.resolve(n)
	v, err := strconv.ParseFloat(n.GetToken().Value, 64)
	if err != nil || n.GetToken().Type == token.DoubleQuoteType || n.GetToken().Type == token.SingleQuoteType {
		r.problem(n, "%s must be a number", what)
		return nil
	}
	if !(v >= low && v <= high) { // so that NaN is out of bounds
		r.problem(n, "%s must be from %v to %v", what, low, high)
		return nil
	}
	return &v
}

func (r *reader) boolean(n ast.Node, what string) bool {
	n = r.resolve(n)
	b, ok := n.(*ast.BoolNode)
	if !ok {
		r.problem(n, "%s must be true or false", what)
		return false
	}
	return b.Value
}

// kindOf names a node for a message.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "empty"
	case *ast.TagNode:
		return "a tagged value"
	case *ast.AliasNode:
		return "an alias of nothing"
	case *ast.AnchorNode:
		return "an anchor of itself"
	default:
		return "a single value"
	}
}
