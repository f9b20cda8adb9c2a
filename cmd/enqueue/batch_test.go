package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/cmd/internal/cli"
	"fourfold/executor"
	"fourfold/flow"
)

func TestAnInputIsExactlyOneValue(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:         `{"a": 1}`,
		" \n [1, 2] \n":    `[1, 2]`,
		"\ufeff\"x\"":      `"x"`,
		`null`:             `null`,
		``:                 ":1:1: not one JSON value",
		`{} {}`:            ":1:4: not one JSON value",
		"{\n  \"a\": tru}": ":2:11: not one JSON value",
		"{\n\n":            ":2:1: not one JSON value",
		"\"\xff\"":         ":1:2: not one JSON value",
		"[1,\n\"é\xe9\"]":  ":2:3: not one JSON value",
		"[\"é\" 1]":        ":1:6: not one JSON value",
		`{'a': 1}`:         ":1:2: not one JSON value",
	} {
		got, err := oneValue([]byte(text))
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestAKeyIsTheFieldOrAHashOfLineAndBundle(t *testing.T) {
	value := []byte(`{"id": "a", "meta": {"n": 12.50, "none": null, "list": []}}`)
	for field, want := range map[string]string{
		"id": "a", "meta.n": "12.50", "meta.none": "is no text and no number", "meta.list": "is no text and no number",
		"missing": "has no field missing", "id.more": "has no field id.more",
	} {
		got, err := keyMaker{field: field}.of(value)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	key := func(bundle byte, value string) string {
		k, err := keyMaker{bundle: flow.SHA{bundle}}.of([]byte(value))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	one, again := key(1, "{}"), key(1, "{}")
	if one != again || one == key(2, "{}") || one == key(1, "[]") {
		t.Error("the hash must depend on line and bundle, and on nothing else")
	}
}

func TestLinesAreCountedAsEditorsDo(t *testing.T) {
	in := newLines(strings.NewReader("1\n\n  \n2\r\n{\n3"), "x", keyMaker{})
	type got struct {
		line  int
		value string
		bad   bool
	}
	var all []got
	for {
		it, err := in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got{it.line, string(it.input.Reveal()), it.err != nil})
	}
	want := []got{{1, "1", false}, {4, "2", false}, {5, "", true}, {6, "3", false}}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(got{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResumingReadsAlongBothFiles(t *testing.T) {
	const inputs = "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n"
	const a, b = `{"line":1,"key":"a","outcome":"OK"}` + "\n", `{"line":2,"key":"b","error":"bad"}` + "\n"
	for _, c := range []struct {
		name, file string
		next       string // key of the next line to do; empty: none
		kept       string
		tally      tally
		err        string
	}{
		{name: "no file", next: "a"},
		{name: "one row", file: a, next: "b", kept: a, tally: tally{outcomes: [5]int{executor.OutcomeOK: 1}, before: 1}},
		{name: "a row with an error", file: a + b, next: "c", kept: a + b, tally: tally{outcomes: [5]int{executor.OutcomeOK: 1}, errors: 1, before: 1}},
		{name: "a row that was cut", file: a + `{"line":2,"k`, next: "b", kept: a, tally: tally{outcomes: [5]int{executor.OutcomeOK: 1}, before: 1}},
		{name: "other inputs", file: b, err: ":1: belongs to another input than line 1"},
		{name: "more rows than inputs", file: a + b + `{"key":"c"}` + "\n" + a, err: ":4: more rows than there are inputs"},
		{name: "another file", file: "hello\n", err: ":1: not a row that this command wrote"},
		{name: "an outcome of its own", file: `{"key":"a","outcome":"GREAT"}` + "\n", err: ":1: not a row that this command wrote"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.jsonl")
			if c.file != "" {
				if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			in := newLines(strings.NewReader(inputs), "in", keyMaker{field: "id"})
			var got tally
			f, err := resume(path, in, &got)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				if data, _ := os.ReadFile(path); string(data) != c.file {
					t.Errorf("a file that is refused was changed: %q", data)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			it, _ := in.next()
			data, _ := os.ReadFile(path)
			if it.key != c.next || string(data) != c.kept {
				t.Errorf("goes on with %q, keeps %q", it.key, data)
			}
			if diff := cmp.Diff(c.tally, got, cmp.AllowUnexported(tally{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestARowIsTheStatusDocumentWithItsLineInFront(t *testing.T) {
	id := runID(t, "default.4k2m8000000000000000000000")
	for _, c := range []struct {
		row  row
		want string
	}{
		{row{item: item{line: 1, key: "a"}, run: id}, `{"line":1,"key":"a","run":"default.4k2m8000000000000000000000","state":"open"}` + "\n"},
		{row{item: item{line: 2, key: "b"}, run: id, status: []byte(`{"run":"r","state":"done"}`)}, `{"line":2,"key":"b","run":"r","state":"done"}` + "\n"},
		{row{item: item{line: 3}, problem: "column 4: not one JSON value"}, `{"line":3,"error":"column 4: not one JSON value"}` + "\n"},
	} {
		got, err := c.row.encode()
		if err != nil || string(got) != c.want {
			t.Errorf("%v: %s, want %s", err, got, c.want)
		}
	}
}

func TestABatchExitsWithItsWorst(t *testing.T) {
	for _, c := range []struct {
		add  []executor.Outcome
		bad  bool
		want error
		text string
	}{
		{nil, false, nil, "0 runs: none finished"},
		{[]executor.Outcome{executor.OutcomeOK, executor.OutcomeAbstained}, false, nil, "2 runs: 1 OK, 1 ABSTAINED"},
		{[]executor.Outcome{executor.OutcomeOK, executor.OutcomeDegraded}, false, cli.Status(3), "2 runs: 1 OK, 1 DEGRADED"},
		{[]executor.Outcome{executor.OutcomeFailed, executor.OutcomeDegraded}, false, cli.Status(4), "2 runs: 1 DEGRADED, 1 FAILED"},
		{[]executor.Outcome{executor.OutcomeFailed}, true, cli.Status(1), "1 run: 1 FAILED; 1 line with errors"},
	} {
		var ta tally
		for _, o := range c.add {
			ta.add(o, false, false)
		}
		if c.bad {
			ta.add(executor.OutcomeNone, true, false)
		}
		if got := ta.exit(); got != c.want || ta.text(true) != c.text {
			t.Errorf("%v: %v, %q", c.add, got, ta.text(true))
		}
	}
}

func TestABatchThatWasSubmittedBeforeSaysSo(t *testing.T) {
	const again = "; enqueue rerun --failed runs the failed ones again"
	type r struct {
		outcome executor.Outcome
		before  bool
	}
	for _, c := range []struct {
		rows   []r
		waited bool
		want   string
	}{
		{[]r{{executor.OutcomeOK, true}, {executor.OutcomeFailed, true}}, true, "2 runs: 1 OK, 1 FAILED; all submitted before" + again},
		{[]r{{executor.OutcomeOK, true}, {executor.OutcomeOK, true}}, true, "2 runs: 2 OK; all submitted before"},
		{[]r{{executor.OutcomeOK, true}, {executor.OutcomeFailed, false}}, true, "2 runs: 1 OK, 1 FAILED; 1 submitted before" + again},
		{[]r{{executor.OutcomeNone, true}}, false, "1 run; all submitted before" + again},
		{[]r{{executor.OutcomeNone, true}, {executor.OutcomeNone, false}}, false, "2 runs submitted; 1 submitted before" + again},
		{[]r{{executor.OutcomeNone, false}}, false, "1 run submitted"},
		{nil, false, "0 runs submitted"},
	} {
		var ta tally
		for _, row := range c.rows {
			ta.add(row.outcome, false, row.before)
		}
		if got := ta.text(c.waited); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
