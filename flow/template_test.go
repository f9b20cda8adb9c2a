package flow

import (
	"errors"
	"strings"
	"testing"
)

func TestTemplatesPrintValuesAsTextOrJSON(t *testing.T) {
	in := inputsOf(`{"title":"Ü & <b>","tables":[{"id":"a","n":1},{"id":"b","n":2}],"n":12345678901234567890,"price":1234567.5,
		"none":null,"yes":true,"lines":"one\ntwo","rate":1e-7}`, `{"text":"hello","parts":["x","y"]}`)
	for template, want := range map[string]string{
		`{{.input.title}}`: `Ü & <b>`,
		`{{.input.n}} {{.input.price}} {{.input.rate}}`:                                     `12345678901234567890 1234567.5 1e-7`,
		`{{.input.none}} {{.input.yes}}`:                                                    `null true`,
		`{{.input.tables}}`:                                                                 `[{"id":"a","n":1},{"id":"b","n":2}]`,
		`{{json .input.title}}`:                                                             `"Ü & <b>"`,
		`{{range .input.tables}}{{.id}}={{.n}};{{end}}`:                                     `a=1;b=2;`,
		`{{range $i, $t := .input.tables}}{{$i}}{{$t.id}} {{end}}`:                          `0a 1b `,
		`{{range .input.tables}}{{$.input.title}}{{break}}{{end}}`:                          `Ü & <b>`,
		`{{with .steps.extract_text.value}}{{.text}}{{end}}`:                                `hello`,
		`{{(index .steps "extract-text").value.text}}`:                                      `hello`,
		`{{index .steps "extract_text" "outcome"}}`:                                         `DEGRADED`,
		`{{(step "extract-text").value.text}}`:                                              `hello`,
		`{{range .input.tables}}{{(step "extract-text").value.text}}{{end}}`:                `hellohello`,
		`{{$.steps.extract_text.outcome}}`:                                                  `DEGRADED`,
		`{{if .steps.tables.value}}some{{else}}{{.steps.tables.outcome}}{{end}}`:            `FAILED`,
		`{{range $id, $s := .steps}}{{$id}}:{{$s.outcome}} {{end}}`:                         `extract-text:DEGRADED tables:FAILED `,
		`{{join ", " .steps.extract_text.value.parts}}`:                                     `x, y`,
		`{{pretty .steps.extract_text.value.parts}}`:                                        "[\n  \"x\",\n  \"y\"\n]",
		`{{indent 2 .input.lines}}`:                                                         "  one\n  two",
		`{{.input.tables | pretty | indent 1 | len}}`:                                       `82`,
		`{{printf "%05.1f|%q" .input.price .input.title}}`:                                  `1234567.5|"Ü & <b>"`,
		`{{define "row"}}{{.id}},{{end}}{{range .input.tables}}{{template "row" .}}{{end}}`: `a,b,`,
		`{{define "all"}}{{.input.title}}{{end}}{{template "all" .}}`:                       `Ü & <b>`,
		`{{if and (gt (len .input.tables) 1) (eq .input.yes true)}}two{{end}}`:              `two`,
		`{{if index .input "missing"}}yes{{else}}no{{end}}`:                                 `no`,
		`{{with .input.none}}yes{{else}}no{{end}}`:                                          `no`,
		`{{print .input.title 1}}`:                                                          `Ü & <b>1`,
		"a{{- /* gone */ -}} b":                                                             `ab`,
	} {
		t.Run(template, func(t *testing.T) {
			got, err := textFrom(t, template, in)
			if err != nil || got != want {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestTemplateErrorsAreContentFree(t *testing.T) {
	const canary = "canary-4711"
	in := inputsOf(`{"s":"`+canary+`","list":["`+canary+`"],"none":null}`, `{"`+canary+`":1}`)
	for template, want := range map[string]string{
		"é {{.input.missing}}":                                       "flow: step s: prompt (p.tmpl:1:11) cannot be evaluated on these inputs",
		"\n\n{{.input.s.field}}":                                     "flow: step s: prompt (p.tmpl:3:9) cannot be evaluated on these inputs",
		"{{.input.none.field}}":                                      "flow: step s: prompt (p.tmpl:1:9) cannot be evaluated on these inputs",
		"{{index .input.list 3}}":                                    "flow: step s: prompt (p.tmpl:1:3) cannot be evaluated on these inputs",
		"{{range .input.s}}{{end}}{{len 3}}":                         "flow: step s: prompt (p.tmpl:1:15) cannot be evaluated on these inputs",
		"{{indent 1000 .input.s}}":                                   "flow: step s: prompt (p.tmpl:1:3) cannot be evaluated on these inputs",
		"{{define \"a\"}}{{.input.nope}}{{end}}{{template \"a\" .}}": "flow: step s: prompt (p.tmpl:1:23) cannot be evaluated on these inputs",
	} {
		t.Run(template, func(t *testing.T) {
			got, err := textFrom(t, template, in)
			if err == nil {
				t.Fatalf("got %q, want an error", got)
			}
			if e := evalError(t, err); e.Error() != want {
				t.Errorf("got  %s\nwant %s", e, want)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), canary) {
					t.Errorf("the error quotes content: %v", e)
				}
			}
		})
	}
}

// A template that would run or grow without end is stopped by a count, not by a clock.
func TestTemplatesAreBounded(t *testing.T) {
	in := inputsOf(`{"s":"`+strings.Repeat("x", 1<<20)+`","list":[`+strings.Repeat("1,", 99)+`1]}`, `1`)
	for template, want := range map[string]error{
		`{{range 1000000000}}{{end}}`:                                                errTooMuch,
		`{{range 10000}}{{range 10000}}{{$x := 1}}{{end}}{{end}}`:                    errTooMuch,
		`{{range 1000000000}}{{continue}}{{end}}`:                                    errTooMuch,
		`{{range .input.list}}{{$.input.s}}{{end}}`:                                  errTooLarge,
		`{{$x := .input.s}}{{range .input.list}}{{$x = print $x $x}}{{end}}`:         errTooLarge,
		`{{$x := .input.s}}{{range .input.list}}{{$x = printf "%s%s" $x $x}}{{end}}`: errTooLarge,
		`{{join .input.s .input.list}}`:                                              errTooLarge,
		`{{define "a"}}{{template "a" .}}{{end}}{{template "a" .}}`:                  errUnreadable,
	} {
		t.Run(template, func(t *testing.T) {
			got, err := textFrom(t, template, in)
			if !errors.Is(err, want) {
				t.Errorf("got %.50s, %v; want %v", got, err, want)
			}
		})
	}
}

func TestNothingIsDecodedThatIsNotRead(t *testing.T) {
	in := inputsOf(`{"a":1}`, `not JSON at all`)
	got, err := textFrom(t, `{{.input.a}}{{.steps.tables.outcome}}`, in)
	if got != "1FAILED" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = textFrom(t, `{{.input.a}}{{.steps.extract_text.outcome}}`, in)
	if e := evalError(t, err); e.Error() != "flow: step s: steps.extract-text is not one JSON value" {
		t.Errorf("got %v", e)
	}
}
