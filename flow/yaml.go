package flow

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on the shape of a flow file. The parser needs time and memory that grow with the square of both, so they
// are checked on the tokens, before it sees the file.
const (
	maxNesting  = 64
	maxSiblings = 256 // keys of one mapping
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
	if at, message := tooComplex(lexer.Tokenize(text)); message != "" {
		found.add(file, at, "%s", message)
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
	if !utf8.Valid(data) {
		line := 1
		for text := range bytes.Lines(data) {
			if !utf8.Valid(text) {
				break
			}
			line++
		}
		found.add(file, position{line: line}, "the file is not UTF-8 text")
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

// tooComplex finds a file that is nested too deeply, has too many keys in one mapping, or several documents.
func tooComplex(tokens token.Tokens) (position, string) {
	open, run := 0, 0         // brackets; indicators in a row
	headers := 0              // of documents
	siblings := map[int]int{} // block keys by column
	for i, t := range tokens {
		if t.Position == nil {
			continue
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			open++
		case token.MappingEndType, token.SequenceEndType:
			open--
		case token.DocumentHeaderType:
			if headers++; headers > 2 {
				return positionOf(t), secondDocument
			}
		case token.SequenceEntryType, token.MappingKeyType:
			run++
			for column := range siblings {
				if column > t.Position.Column {
					delete(siblings, column)
				}
			}
		case token.MappingValueType:
			if i == 0 || open > 0 {
				continue
			}
			column := tokens[i-1].Position.Column
			if siblings[column]++; siblings[column] > maxSiblings {
				return positionOf(t), "more than 256 keys in one mapping"
			}
			for c := range siblings {
				if c > column {
					delete(siblings, c)
				}
			}
			run = 0
		default:
			run = 0
		}
		if open > maxNesting || run > maxNesting || open == 0 && len(siblings) > maxNesting {
			return positionOf(t), "nested more than 64 deep"
		}
	}
	return position{}, ""
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
