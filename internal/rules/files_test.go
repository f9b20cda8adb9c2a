package rules

import (
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// longest is the most lines that a Go file may have; what is longer is split by theme.
const longest = 500

func TestGoFilesAreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		if n := strings.Count(f.text, "\n"); n > longest && !f.generated() {
			t.Errorf("%s has %d lines: split it by theme (at most %d)", f.path, n, longest)
		}
	}
}

// A package begins in its doc.go; one of a single file has its comment there, and examples have it where they start.
func TestEachPackageStartsWithItsDocumentation(t *testing.T) {
	folders := map[string][]file{}
	for _, f := range goFiles(t) {
		if !f.isTest() {
			folders[f.folder()] = append(folders[f.folder()], f)
		}
	}
	for folder, files := range folders {
		documented := documentedIn(t, folder, files)
		want := path.Join(folder, "doc.go")
		switch {
		case len(documented) == 0:
			t.Errorf("%s has no package comment", folder)
		case len(documented) > 1:
			t.Errorf("%s has its package comment in several files: %s", folder, strings.Join(documented, ", "))
		case documented[0] != want && len(files) > 1 && !within(folder, "examples"):
			t.Errorf("%s must hold the package comment of %s", want, folder)
		}
	}
}

// documentedIn returns the files that bear a package comment, and holds each comment against its form.
func documentedIn(t *testing.T, folder string, files []file) []string {
	t.Helper()
	var documented []string
	for _, f := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Doc == nil {
			continue
		}
		documented = append(documented, f.path)
		begin, least := "Package "+parsed.Name.Name+" ", 40
		if parsed.Name.Name == "main" {
			begin = "Command " + path.Base(folder) + " "
			if within(folder, "examples") {
				begin = "" // an example's first sentence says what it shows
			}
		}
		if len(files) > 1 {
			least = 80
		}
		if doc := parsed.Doc.Text(); !strings.HasPrefix(doc, begin) || len(doc) < least {
			t.Errorf("%s: the package comment must begin %q and say enough to start from", f.path, begin)
		}
	}
	return documented
}

// openWork is written in halves so that this file does not match itself.
var openWork = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

func TestNothingIsLeftOpenInTheCode(t *testing.T) {
	for _, f := range textFiles(t) {
		if f.generated() {
			continue
		}
		for i, line := range strings.Split(f.text, "\n") {
			if mark := openWork.FindString(line); mark != "" {
				t.Errorf("%s:%d has %s: do it, or write it into docs/rough_edges.md", f.path, i+1, mark)
			}
		}
	}
}

// skips are the tests that may skip themselves, as path → why a user would accept it.
var skips = map[string]string{}

var skip = regexp.MustCompile(`\b[tbf]\.Skip(f|Now)?\(`)

func TestNoTestIsSkipped(t *testing.T) {
	used := map[string]bool{}
	for _, f := range textFiles(t) {
		if !f.isTest() || !skip.MatchString(f.text) || f.path == "internal/rules/files_test.go" {
			continue
		}
		used[f.path] = true
		if skips[f.path] == "" {
			t.Errorf("%s skips tests and has no reason in skips (files_test.go)", f.path)
		}
	}
	for name := range skips {
		if !used[name] {
			t.Errorf("%s no longer skips a test: take its reason away", name)
		}
	}
}

// machinePaths are places that exist on one machine only; halves again, for this file's own sake.
var machinePaths = regexp.MustCompile(`(^|[\s"'=(` + "`" + `])/(wo` + `rk|ro` + `ot|ho` + `me|Us` + `ers)/[\w.]`)

func TestNoPathOfTheBuildMachine(t *testing.T) {
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range textFiles(t) {
		for i, line := range strings.Split(f.text, "\n") {
			if machinePaths.MatchString(line) || (strings.Count(here, "/") > 1 && strings.Contains(line, filepath.ToSlash(here)+"/")) {
				t.Errorf("%s:%d names a path of one machine", f.path, i+1)
			}
		}
	}
}
