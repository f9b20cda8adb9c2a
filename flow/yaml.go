package flow

import (
	"bytes"
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const secondDocument = "a second YAML document; a flow file holds one"

// document is a parsed flow file.
type document struct {
	root    ast.Node
	lines   [][]rune
	anchors map[string]ast.Node
}

// parseYAML parses a flow file; on problems it returns nil.
func parseYAML(file string, data []byte, found *findings) *document {
	text, ok := plainText(file, data, found)
	if !ok {
		return nil
	}
	if r := tooComplex(lexer.Tokenize(text)); r != nil {
		found.add(file, r.at, "%s", r.message)
		return nil
	}
	tree, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax):
		found.add(file, positionOf(syntax.GetToken()), "not valid YAML: %s", syntax.GetMessage())
		return nil
	case err != nil:
		found.add(file, position{}, "not valid YAML: %v", err)
		return nil
	}
	doc := &document{anchors: map[string]ast.Node{}}
	for line := range strings.Lines(text) {
		doc.lines = append(doc.lines, []rune(strings.TrimSuffix(line, "\n")))
	}
	for _, d := range tree.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentType {
			continue
		}
		if doc.root != nil {
			found.add(file, place(d.Body), secondDocument)
			return nil
		}
		doc.root = d.Body
	}
	if doc.root == nil {
		found.add(file, position{}, "the file is empty")
		return nil
	}
	ast.Walk(anchorCollector(doc.anchors), doc.root)
	return doc
}

// plainText returns a file's text without a byte order mark and with \n for line ends (the parser miscounts
// lines that end in \r\n), and refuses what is not UTF-8.
func plainText(file string, data []byte, found *findings) (string, bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if line, column, bad := FirstBadByte(data); bad {
		found.add(file, position{line, column}, "%s", notText)
		return "", false
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	for i, line := range strings.Split(text, "\n") {
		for j, r := range []rune(line) {
			if r < ' ' && r != '\t' || r == 0x7f {
				found.add(file, position{i + 1, j + 1}, "control character %U", r)
				return "", false
			}
		}
	}
	return text, true
}

// anchorCollector notes the anchored nodes by name.
type anchorCollector map[string]ast.Node

func (c anchorCollector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok && a.Name != nil {
		c[a.Name.GetToken().Value] = a.Value
	}
	return c
}

func positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// place returns where the node stands. A mapping's own token is the colon of its first key, so the key is taken.
func place(n ast.Node) position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return place(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return place(n.Key)
	}
	return positionOf(n.GetToken())
}
