package simulated

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// formats are strings of the formats that schemas name.
var formats = map[string]string{
	"date-time": "2026-01-01T12:00:00Z", "date": "2026-01-01", "time": "12:00:00Z", "duration": "P1D",
	"email": "simulated@example.com", "idn-email": "simulated@example.com", "hostname": "simulated.example.com",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.com/simulated", "uri-reference": "/simulated",
	"iri": "https://example.com/simulated", "uuid": "00000000-0000-4000-8000-000000000000", "json-pointer": "/simulated", "regex": "simulated",
}

// text makes a string.
func (m maker) text(s object, name string) string {
	made := "simulated " + name
	if format, ok := s["format"].(string); ok && formats[format] != "" {
		made = formats[format]
	}
	if pattern, ok := s["pattern"].(string); ok {
		if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(made) {
			made = matching(pattern)
		}
	}
	if least, ok := count(s, "minLength"); ok {
		if short := least - utf8.RuneCountInString(made); short > 0 {
			made += strings.Repeat("x", short)
		}
	}
	if most, ok := count(s, "maxLength"); ok && utf8.RuneCountInString(made) > most {
		made = string([]rune(made)[:max(most, 0)])
	}
	return made
}

// matching makes a short string that a regular expression matches.
func matching(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var made strings.Builder
	expand(&made, re)
	return made.String()
}

// expand writes what an expression needs at least: the first alternative, the fewest repetitions.
func expand(made *strings.Builder, re *syntax.Regexp) {
	least := 1
	switch re.Op {
	case syntax.OpLiteral:
		made.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		made.WriteRune(readable(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		made.WriteByte('x')
	case syntax.OpAlternate:
		expand(made, re.Sub[0])
		return
	case syntax.OpStar, syntax.OpQuest:
		return
	case syntax.OpRepeat:
		least = re.Min
	}
	for range least {
		for _, sub := range re.Sub {
			if made.Len() < longest {
				expand(made, sub)
			}
		}
	}
}

// readable picks a rune of a class: a letter, a digit, or its first. A class is a list of ranges.
func readable(class []rune) rune {
	for _, wanted := range "aA1" {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= wanted && wanted <= class[i+1] {
				return wanted
			}
		}
	}
	if len(class) == 0 {
		return 'x'
	}
	return class[0]
}
