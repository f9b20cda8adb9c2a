package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/cmd/internal/cli"
)

type grammar struct {
	Do do `cmd:"" help:"Do it."`
}

type do struct {
	Number int    `help:"A number."`
	Secret string `env:"-" help:"Not from the environment."`
}

// record is what a command was run with.
type record struct{ do }

var result error

// Run is what kong calls.
func (d do) Run(ctx context.Context, _ cli.Streams, got *record) error {
	got.do = d
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return result
}

func run(t *testing.T, args ...string) (status int, got do, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	var seen record
	p := cli.Program{
		Name: "try", Description: "Try it.", Grammar: &grammar{},
		Streams: cli.Streams{Out: &stdout, Err: &stderr}, Bind: []any{&seen},
	}
	status = p.Run(t.Context(), args)
	return status, seen.do, stdout.String(), stderr.String()
}

func TestExitStatuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		result error
		status int
		out    string // begins
		err    string
	}{
		{"good", []string{"do"}, nil, 0, "", ""},
		{"an outcome says nothing more", []string{"do"}, cli.Status(cli.StatusDegraded), 3, "", ""},
		{"an error of its own", []string{"do"}, errors.New("first\nsecond"), 1, "", "try: first\ntry: second\n"},
		{"an error of a package", []string{"do"}, errors.New("tasks: gone"), 1, "", "try: gone\n"},
		{"wrong usage that the command saw", []string{"do"}, cli.Usagef("not %d", 5), 2, "", "try: not 5\nTry: try --help\n"},
		{"wrong usage", []string{"do", "--number=x"}, nil, 2, "", "try: --number"},
		{"no command", nil, nil, 2, "", "try: expected"},
		{"help", []string{"do", "--help"}, nil, 0, "Usage: try do", ""},
	} {
		result = c.result
		status, _, out, errs := run(t, c.args...)
		if status != c.status || !strings.HasPrefix(out, c.out) || !strings.HasPrefix(errs, c.err) || (c.err == "") != (errs == "") {
			t.Errorf("%s: status %d, %q, %q", c.name, status, out, errs)
		}
	}
	result = nil
}

func TestEveryFlagIsAlsoAVariableAndStandsAboveIt(t *testing.T) {
	t.Setenv("FOURFOLD_NUMBER", "7")
	t.Setenv("FOURFOLD_SECRET", "x")
	if _, got, _, _ := run(t, "do"); got != (do{Number: 7}) {
		t.Errorf("%+v", got)
	}
	if _, got, _, _ := run(t, "do", "--number", "8"); got.Number != 8 {
		t.Errorf("%+v", got)
	}
}

func TestTablesAlignNumbersRightAndWordsLeft(t *testing.T) {
	var b bytes.Buffer
	cli.Table{
		Header: []string{"NAME", "N", "SHARE"},
		Rows:   [][]string{{"größer", "5", "-"}, {"x", "1200", "3.5"}},
		Colour: func(column int, cell string) string {
			if column == 0 && cell == "x" {
				return "\x1b[31m"
			}
			return ""
		},
	}.Write(&b, "> ")
	want := "> NAME       N  SHARE\n> größer     5      -\n> \x1b[31mx\x1b[0m       1200    3.5\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATableFitsItsWidthByCuttingWhatMayBeCut(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name string
		row  []string
		cut  []int
		want []string
	}{
		{"fits", []string{long(60), long(38)}, []int{0, 1}, []string{long(60), long(38)}},
		{"the widest gives first", []string{long(60), long(20), long(30)}, []int{0, 1}, []string{long(30) + "…" + long(15), long(20), long(30)}},
		{"both give", []string{long(40), long(40), long(30)}, []int{0, 1}, []string{long(22) + "…" + long(10), long(22) + "…" + long(10), long(30)}},
		{"what may not be cut is whole", []string{long(10), long(110)}, []int{0}, []string{long(4) + "…" + long(1), long(110)}},
		{"nothing may be cut", []string{long(60), long(60)}, nil, []string{long(60), long(60)}},
	} {
		var b bytes.Buffer
		cli.Table{Header: make([]string, len(c.row)), Rows: [][]string{c.row}, Cut: c.cut}.Write(&b, "")
		if diff := cmp.Diff(c.want, strings.Fields(b.String())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestColumnsAreLeftOutWhereCuttingIsNotEnough(t *testing.T) {
	row := []string{"a-step-with-a-long-name", "12345678", "abcdefgh", "x"}
	for _, c := range []struct {
		width int
		want  string
	}{
		{44, "a-step-with-a-…g-name  12345678  abcdefgh  x"},
		{30, "a-st…me  12345678  abcdefgh  x"},
		{29, "a-st…e  12345678  abcdefgh  x"},
		{28, "a-step-wit…name  abcdefgh  x"},
		{17, "a-st…me  abcdefgh"},
		{3, "a-st…e"},
	} {
		var b bytes.Buffer
		cli.Table{Header: make([]string, len(row)), Rows: [][]string{row}, Cut: []int{0}, Drop: []int{1, 3, 2}, Width: c.width}.Write(&b, "")
		if got := strings.TrimSpace(b.String()); got != c.want {
			t.Errorf("%d columns: %q, want %q", c.width, got, c.want)
		}
	}
}

func TestLinesWrapAfterAMark(t *testing.T) {
	x := strings.Repeat("x", 60)
	for line, want := range map[string]string{
		"short":                  "short",
		x + "," + x:              x + ",\n  " + x,
		x + "," + x + "," + x:    x + ",\n  " + x + ",\n  " + x,
		x + x:                    (x + x)[:cli.Width] + "\n  " + (x + x)[cli.Width:],
		strings.Repeat("y", 100): strings.Repeat("y", 100),
	} {
		if got := cli.Wrap(line, ",", "  "); got != want {
			t.Errorf("%q", got)
		}
	}
}

func TestErrorsForPeopleNameNoPackage(t *testing.T) {
	gone := errors.New("tasks: the run is still open")
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{gone, "the run is still open"},
		{fmt.Errorf("run r: %w", gone), "run r: the run is still open"},
		{fmt.Errorf("flow: step a: %w", gone), "step a: the run is still open"},
		{errors.Join(errors.New("openai: model: must be set"), fmt.Errorf("b: %w", gone)), "model: must be set\nb: the run is still open"},
		{errors.New("flow.yaml:1:1: flow: is missing"), "flow.yaml:1:1: flow: is missing"},
		{errors.New("dial: refused"), "dial: refused"},
	} {
		if got := cli.Text(c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestOneThingIsSingular(t *testing.T) {
	for n, want := range map[int]string{0: "0 steps", 1: "1 step", 2: "2 steps"} {
		if got := cli.Count(n, "step"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
