package flow

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"
)

// maxTemplateSteps bounds the loops and calls of one execution, and its pieces of output.
const maxTemplateSteps = 1_000_000

// prompt is a compiled prompt template.
type prompt struct {
	name string // of the key: system or prompt
	file string
	text string
	tmpl *template.Template
	uses usage
}

// compileTemplate checks and compiles a template file for a step; nil when it has problems, which are then noted.
func (c *checker) compileTemplate(name string, t text, sees scope) *prompt {
	file, data, ok := c.open(t, name)
	if !ok {
		return nil
	}
	source, ok := plainText(file, data, c.found)
	if !ok {
		return nil
	}
	if strings.TrimSpace(source) == "" {
		c.found.add(file, position{}, "the template is empty")
		return nil
	}
	tmpl, err := newTemplate(source)
	if err != nil {
		at, message := templateProblem(source, err)
		c.found.add(file, at, "%s", message)
		return nil
	}
	check := templateCheck{sees: sees, source: source, defined: map[string]bool{}, uses: usage{steps: map[string]bool{}}}
	for _, t := range tmpl.Templates() {
		check.defined[t.Name()] = true
	}
	for _, t := range tmpl.Templates() {
		check.tree(t.Tree, t.Name() == templateName)
	}
	for _, r := range check.refusals {
		c.found.add(file, positionAt(source, r.offset), "in step %s: %s", sees.step, r.message)
	}
	if len(check.refusals) > 0 {
		return nil
	}
	return &prompt{name: name, file: file, text: source, tmpl: tmpl, uses: check.uses}
}

// templateName stands in the texts of text/template's errors, where it is found again.
const templateName = "prompt"

func newTemplate(source string) (*template.Template, error) {
	return template.New(templateName).Option("missingkey=error").Funcs(templateFunctions).Parse(source)
}

// run executes the template. Its error is one of this package's fixed ones, with the place in the template.
func (p *prompt) run(data map[string]any) (string, position, error) {
	var out limitedText
	err := p.tmpl.Execute(&out, data)
	if err == nil {
		return out.b.String(), position{}, nil
	}
	at := placeInError(p.text, err)
	for _, known := range []error{errTooMuch, errTooLarge, errTooDeep} {
		if errors.Is(err, known) {
			return "", at, known
		}
	}
	return "", at, errUnreadable // the library's text may quote values
}

// limitedText takes a template's output, within bounds. Every loop writes at least an empty piece per round (see
// templateCheck), so that one that prints nothing ends as well.
type limitedText struct {
	b     strings.Builder
	steps int
}

func (t *limitedText) Write(p []byte) (int, error) {
	if t.steps++; t.steps > maxTemplateSteps {
		return 0, errTooMuch
	}
	if t.b.Len()+len(p) > maxOutput {
		return 0, errTooLarge
	}
	return t.b.Write(p)
}

var (
	parseErrorText = regexp.MustCompile(`^template: ` + templateName + `:(\d+): (?s:(.*))$`)
	execErrorText  = regexp.MustCompile(`^template: ` + templateName + `:(\d+):(\d+): `)
)

// templateProblem finds the place that a parse error speaks of. The library names the line alone; the action is
// found as the first one up to which the file has the same error.
func templateProblem(source string, err error) (position, string) {
	m := parseErrorText.FindStringSubmatch(err.Error())
	if m == nil {
		return position{}, "bad template: " + strings.TrimPrefix(err.Error(), "template: ")
	}
	line, _ := strconv.Atoi(m[1])
	at := position{line: line}
	for offset := 0; ; {
		open := strings.Index(source[offset:], "{{")
		if open < 0 {
			break
		}
		open += offset
		end := len(source)
		if i := strings.Index(source[open:], "}}"); i >= 0 {
			end = open + i + len("}}")
		}
		if _, e := newTemplate(source[:end]); e != nil && e.Error() == err.Error() {
			at = positionAt(source, open)
			break
		}
		offset = min(end, len(source))
	}
	if m[2] == "unexpected EOF" {
		return at, "bad template: it ends before a {{range}}, {{if}}, {{with}} or {{define}} is closed by {{end}}"
	}
	return at, "bad template: " + m[2]
}

// placeInError reads the place, and nothing else, from the text of an execution error.
func placeInError(source string, err error) position {
	m := execErrorText.FindStringSubmatch(err.Error())
	if m == nil {
		return position{}
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2]) // in bytes, from 0
	lines := strings.SplitAfter(source, "\n")
	if line < 1 || line > len(lines) {
		return position{}
	}
	return position{line, utf8.RuneCountInString(lines[line-1][:min(column, len(lines[line-1]))]) + 1}
}

// positionAt turns an offset in bytes into line and column.
func positionAt(source string, offset int) position {
	before := source[:min(offset, len(source))]
	lineStart := strings.LastIndexByte(before, '\n') + 1
	return position{strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[lineStart:]) + 1}
}
