package flow

import "github.com/goccy/go-yaml/token"

// Bounds on the shape of a flow file. The parser needs time and memory that grow with the square of what these
// count, so they are checked on the tokens, before it sees the file.
const (
	maxNesting  = 64
	maxSiblings = 256  // keys of one mapping
	maxEntries  = 4096 // entries of one list in brackets
)

// shape follows the nesting of a file token by token.
type shape struct {
	open     []bracket
	run      int         // indicators of lists in a row: - - -
	siblings map[int]int // keys of block mappings, by column
	headers  int         // of documents
}

// bracket is an open [ or {.
type bracket struct {
	mapping bool
	entries int
}

// misshape is why a file is not given to the parser.
type misshape struct {
	at      position
	message string
}

// tooComplex finds what would keep the parser busy; nil when there is nothing.
func tooComplex(tokens token.Tokens) *misshape {
	s := shape{siblings: map[int]int{}}
	for i, t := range tokens {
		if t.Position == nil {
			continue
		}
		var message string
		if len(s.open) > 0 {
			message = s.inBrackets(t)
		} else {
			var before *token.Token
			if i > 0 {
				before = tokens[i-1]
			}
			message = s.inBlock(t, before)
		}
		if message == "" && (len(s.open) > maxNesting || s.run > maxNesting || len(s.siblings) > maxNesting) {
			message = "nested more than 64 deep"
		}
		if message != "" {
			return &misshape{positionOf(t), message}
		}
	}
	return nil
}

func (s *shape) inBrackets(t *token.Token) string {
	inner := &s.open[len(s.open)-1]
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		s.open = append(s.open, bracket{mapping: t.Type == token.MappingStartType})
	case token.MappingEndType, token.SequenceEndType:
		s.open = s.open[:len(s.open)-1]
	case token.MappingKeyType:
		return explicitKey
	case token.CollectEntryType:
		switch inner.entries++; {
		case inner.mapping && inner.entries > maxSiblings:
			return tooManyKeys
		case inner.entries > maxEntries:
			return "more than 4096 entries in one list"
		}
	}
	return ""
}

func (s *shape) inBlock(t, before *token.Token) string {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		s.open = append(s.open, bracket{mapping: t.Type == token.MappingStartType})
		s.run = 0
	case token.MappingKeyType:
		return explicitKey
	case token.DocumentHeaderType:
		if s.headers++; s.headers > 2 {
			return secondDocument
		}
	case token.SequenceEntryType:
		s.run++
		s.leave(t.Position.Column)
	case token.MappingValueType:
		s.run = 0
		if before == nil || before.Position == nil {
			return ""
		}
		column := before.Position.Column
		s.leave(column)
		if s.siblings[column]++; s.siblings[column] > maxSiblings {
			return tooManyKeys
		}
	default:
		s.run = 0
	}
	return ""
}

// leave forgets the block mappings that something at this column has ended.
func (s *shape) leave(column int) {
	for c := range s.siblings {
		if c > column {
			delete(s.siblings, c)
		}
	}
}

const (
	explicitKey = "keys that begin with ? are not supported"
	tooManyKeys = "more than 256 keys in one mapping"
)
