package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

// Names of functions that the check treats specially.
const (
	textFunction = "_text"
	stepFunction = "step"
)

// refusedFunctions are Go's template functions that a prompt has no use for, and that could grow a text without
// bound.
var refusedFunctions = map[string]bool{"call": true, "html": true, "js": true, "urlquery": true}

// templateFunctions are added to Go's own. Those that make text are within bounds.
var templateFunctions = template.FuncMap{
	// _text is what a value prints as: strings as they are, everything else as JSON.
	textFunction: textOf,
	// step "id" is a needed step, with .value and .outcome. The check turns it into an index; this is never called.
	stepFunction: func(string) (any, error) { return nil, errUnreadable },
	// json is a value as compact JSON.
	"json": func(v any) (string, error) {
		text, err := encode(v)
		return string(text), err
	},
	// pretty is a value as JSON over several lines, indented by two spaces.
	"pretty": func(v any) (string, error) {
		text, err := encode(v)
		if err != nil {
			return "", err
		}
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", "  "); err != nil {
			return "", errNotAValue
		}
		return b.String(), nil
	},
	// indent n text puts n spaces before every line.
	"indent": func(n int, v any) (string, error) {
		text, err := textOf(v)
		switch {
		case err != nil:
			return "", err
		case n < 0 || n > 100:
			return "", errUnreadable
		case len(text)+n*(strings.Count(text, "\n")+1) > maxOutput:
			return "", errTooLarge
		}
		spaces := strings.Repeat(" ", n)
		return spaces + strings.ReplaceAll(text, "\n", "\n"+spaces), nil
	},
	// join separator list joins the elements of a list.
	"join": func(separator string, list any) (string, error) { return joinText(list, separator) },

	"print":   bounded(func(args []any) string { return fmt.Sprint(args...) }),
	"println": bounded(func(args []any) string { return fmt.Sprintln(args...) }),
	"printf": func(format string, args ...any) (string, error) {
		if size(args)*(1+strings.Count(format, "%")) > maxOutput || len(format) > maxExpression {
			return "", errTooLarge
		}
		return fmt.Sprintf(format, args...), nil
	},
}

// bounded refuses arguments that are too large to print. Go's own functions would double a text with every round
// of a loop.
func bounded(f func([]any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		if size(args) > maxOutput {
			return "", errTooLarge
		}
		return f(args), nil
	}
}

func size(args []any) int {
	n := 0
	for _, a := range args {
		if s, ok := a.(string); ok {
			n += len(s)
		}
	}
	return n
}
