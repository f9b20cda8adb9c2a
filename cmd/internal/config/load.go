package config

import (
	"errors"
	"os"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"fourfold/flow"
)

// Load reads the file at path, or nothing when path is empty. The error is that of reading; what is wrong with the text
// Finish reports, together with what does not fit.
func Load(path string) (*File, error) {
	if path == "" {
		return &File{}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data), nil
}

// Parse reads the bytes of a file called name.
func Parse(name string, data []byte) *File {
	f := &File{name: name}
	if line, column, bad := flow.FirstBadByte(data); bad {
		f.problems = flow.Problems{{File: name, Line: line, Column: column, Message: "the file is not UTF-8 text"}}
		return f
	}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		f.problems = flow.Problems{syntaxProblem(name, err)}
		return f
	}
	d := &decoder{file: name, lines: map[string]position{}, anchors: map[string]ast.Node{}}
	if len(tree.Docs) > 1 {
		d.note(tree.Docs[1].Body, "", "a second document; one file holds one configuration")
	}
	for _, doc := range tree.Docs {
		ast.Walk(anchorFinder(d.anchors), doc)
	}
	if len(tree.Docs) > 0 && tree.Docs[0].Body != nil {
		d.value(tree.Docs[0].Body, reflect.ValueOf(f).Elem(), "", 0)
	}
	f.lines, f.problems = d.lines, d.problems
	return f
}

func syntaxProblem(name string, err error) flow.Problem {
	p := flow.Problem{File: name, Message: "not readable as YAML"}
	var at yaml.Error
	if errors.As(err, &at) {
		p.Message = "not readable as YAML: " + at.GetMessage()
		if tk := at.GetToken(); tk != nil && tk.Position != nil {
			p.Line, p.Column = tk.Position.Line, tk.Position.Column
		}
	}
	return p
}

func sorted(ps flow.Problems) flow.Problems {
	slices.SortStableFunc(ps, func(a, b flow.Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return ps
}

type anchorFinder map[string]ast.Node

// Visit notes the anchors of the tree.
func (f anchorFinder) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		f[a.Name.GetToken().Value] = a.Value
	}
	return f
}
