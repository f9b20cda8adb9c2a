package flow

import (
	"slices"
	"sort"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
)

// source is an expression as it is compiled: the text of the flow file with parentheses put around objects that
// expr would take for a block.
type source struct {
	text     text
	code     string
	inserted []int // offsets in code, in characters
}

// place translates an offset in the code, in characters, to a place in the flow file.
func (s source) place(offset int) position {
	return s.text.place(offset - sort.SearchInts(s.inserted, offset))
}

// withObjects makes map(list, {"id": .id}) mean what it says. In expr the brace after the comma opens a block of
// the predicate, and an object there has to be written in parentheses or in a second pair of braces.
func withObjects(t text) source {
	s := source{text: t, code: t.value}
	tokens, err := lexer.Lex(file.NewSource(t.value))
	if err != nil {
		return s // the parser will say so
	}
	var before, after []int // offsets in the text: of braces that open an object, and of those that close one
	var open []bool         // for each open brace: does it open an object in an argument's place?
	for i, token := range tokens {
		switch {
		case token.Is(lexer.Bracket, "{"):
			object := i > 0 && argumentStart(tokens[i-1]) && opensObject(tokens[i+1:])
			if object {
				before = append(before, token.From)
			}
			open = append(open, object)
		case token.Is(lexer.Bracket, "}") && len(open) > 0:
			if open[len(open)-1] {
				after = append(after, token.From)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 || len(before) == 0 {
		return s
	}
	var code []rune
	insert := func(r rune) {
		s.inserted = append(s.inserted, len(code))
		code = append(code, r)
	}
	for i, r := range []rune(t.value) {
		if slices.Contains(before, i) {
			insert('(')
		}
		code = append(code, r)
		if slices.Contains(after, i) {
			insert(')')
		}
	}
	s.code = string(code)
	return s
}

func argumentStart(before lexer.Token) bool {
	return before.Is(lexer.Operator, ",") || before.Is(lexer.Bracket, "(")
}

// opensObject says whether what follows a brace is an object: empty, or a key and a colon.
func opensObject(next []lexer.Token) bool {
	if len(next) > 0 && next[0].Is(lexer.Bracket, "}") {
		return true
	}
	if len(next) < 2 || !next[1].Is(lexer.Operator, ":") {
		return false
	}
	return next[0].Is(lexer.String) || next[0].Is(lexer.Identifier) || next[0].Is(lexer.Number)
}
