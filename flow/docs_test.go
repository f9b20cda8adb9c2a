package flow

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// fence is a block of code in a document.
type fence struct {
	line int
	info string
	text string
}

func fences(t *testing.T, path string) []fence {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []fence
	var open *fence
	for i, line := range strings.SplitAfter(string(data), "\n") {
		mark, isMark := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case isMark && open == nil:
			open = &fence{line: i + 1, info: mark}
		case isMark:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	return all
}

// All YAML of docs/flow.md loads: whole flows as they are, lists of steps as the steps of a flow. Files that the document
// does not show are made up.
func TestTheYAMLOfTheDocumentationLoads(t *testing.T) {
	shown := map[string]string{
		"prompts/system.tmpl":      "Be brief.",
		"prompts/map-blocks.tmpl":  "{{.input.blocks}}",
		"prompts/extract.tmpl":     "{{.input}}",
		"prompts/summarise.tmpl":   "{{.input.text}}",
		"prompts/translate.tmpl":   "{{.index}} {{.item.name}}",
		"schemas/table-kinds.json": tableKinds,
		"schemas/summary.json":     `{"type":"object","required":["summary"],"additionalProperties":false,"properties":{"summary":{"type":"string"}}}`,
		"schemas/translation.json": `{"type":"object","required":["name","translated"]}`,
	}
	blocks := fences(t, "../docs/flow.md")
	for _, b := range blocks {
		if _, file, ok := strings.Cut(b.info, " file="); ok && file != "flow.yaml" {
			shown[file] = b.text
		}
	}
	loaded := 0
	for _, b := range blocks {
		if !strings.HasPrefix(b.info, "yaml") {
			continue
		}
		text := b.text
		if strings.HasPrefix(text, "- id:") {
			text = "flow: f\nsteps:\n" + text
		}
		fsys := fstest.MapFS{"flow.yaml": {Data: []byte(text)}}
		for name, content := range shown {
			fsys[name] = &fstest.MapFile{Data: []byte(content)}
		}
		if _, err := Load(fsys, "flow.yaml"); err != nil {
			t.Errorf("docs/flow.md:%d:\n%v", b.line, err)
		}
		loaded++
	}
	if loaded < 6 {
		t.Errorf("only %d blocks of YAML found", loaded)
	}
}

// Every key has its line in docs/flow.md.
func TestTheDocumentationNamesEveryKey(t *testing.T) {
	data, err := os.ReadFile("../docs/flow.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{keyNames(flowKeys), keyNames(stepKeys), keyNames(needKeys), keyNames(paramKeys), keyNames(budgetKeys), {"abstain.on", "abstain.to"}} {
		for _, name := range names {
			if !strings.Contains(string(data), "`"+name+"`") {
				t.Errorf("docs/flow.md does not name the key %s", name)
			}
		}
	}
}

// The prompt that docs/flow.md shows makes what it promises.
func TestTheTemplateOfTheDocumentationRuns(t *testing.T) {
	for _, b := range fences(t, "../docs/flow.md") {
		if !strings.HasPrefix(b.info, "gotemplate") {
			continue
		}
		got, err := textFrom(t, b.text, inputsOf(`{"title":"Annual report","language":null,"tables":[{"id":"t1","rows":[[1,"a"]]}]}`, `1`))
		want := "Say for each table of \"Annual report\" whether it is content or layout.\n\nTable t1:\n  [\n    [\n      1,\n      \"a\"\n    ]\n  ]\n\n"
		if err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		return
	}
	t.Error("docs/flow.md shows no template")
}
