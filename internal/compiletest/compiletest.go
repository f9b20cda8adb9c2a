// Package compiletest holds what must not compile against files that try it.
//
// A fixture is a pair of files in testdata/compile: name.go, whose lines bear marks of the form
//
//	r.Value() // ERROR "has no field or method Value"
//
// and its twin name_ok.go, which does what is allowed and must compile. Of a fixture every mark must be
// met by an error on its line that matches the regular expression, and every error must have a mark;
// without the twin, a fixture that fails for another reason, or for none, could pass.
package compiletest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Check type-checks every fixture in testdata/compile of the package under test, which is found in the
// current directory and imported as importPath.
func Check(t *testing.T, importPath string) {
	t.Helper()
	c := &checker{fset: token.NewFileSet(), path: importPath}
	c.std = importer.ForCompiler(c.fset, "gc", nil)
	if err := c.load(); err != nil {
		t.Fatalf("the package under test: %v", err)
	}
	fixtures, err := filepath.Glob(filepath.Join("testdata", "compile", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range fixtures {
		names[f] = true
	}
	pairs := 0
	for _, f := range fixtures {
		if strings.HasSuffix(f, "_ok.go") {
			continue
		}
		twin := strings.TrimSuffix(f, ".go") + "_ok.go"
		if !names[twin] {
			t.Errorf("%s has no twin %s", f, twin)
			continue
		}
		pairs++
		t.Run(strings.TrimSuffix(filepath.Base(f), ".go"), func(t *testing.T) {
			c.fixture(t, f, true)
			c.fixture(t, twin, false)
		})
	}
	if pairs == 0 || len(fixtures) != 2*pairs {
		t.Errorf("%d files are %d fixtures with their twins", len(fixtures), pairs)
	}
}

type checker struct {
	fset *token.FileSet
	path string
	pkg  *types.Package
	std  types.Importer
}

// Import gives fixtures the package under test and the standard library.
func (c *checker) Import(path string) (*types.Package, error) {
	if path == c.path && c.pkg != nil {
		return c.pkg, nil
	}
	return c.std.Import(path)
}

// load type-checks the package under test.
func (c *checker) load() error {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		return err
	}
	var files []*ast.File
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	c.pkg, err = (&types.Config{Importer: c}).Check(c.path, c.fset, files, nil)
	return err
}

// fixture checks one file; marked says whether it must have marks.
func (c *checker) fixture(t *testing.T, name string, marked bool) {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	marks, err := marksOf(string(source))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if (len(marks) > 0) != marked {
		t.Errorf("%s: %d marks", name, len(marks))
	}
	file, err := parser.ParseFile(c.fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	met := map[int]bool{}
	cfg := types.Config{Importer: c, Error: func(err error) {
		e, ok := errors.AsType[types.Error](err)
		if !ok {
			t.Fatal(err)
		}
		line := c.fset.Position(e.Pos).Line
		if mark := marks[line]; mark != nil && mark.MatchString(e.Msg) {
			met[line] = true
		} else if !strings.HasPrefix(e.Msg, "\t") { // which only goes on with the error before
			t.Errorf("%s:%d: error without its mark: %s", name, line, e.Msg)
		}
	}}
	_, _ = cfg.Check("fixture", c.fset, []*ast.File{file}, nil) // Error has seen the errors
	for line, mark := range marks {
		if !met[line] {
			t.Errorf("%s:%d: no error matches %q", name, line, mark)
		}
	}
}

var markPattern = regexp.MustCompile(`// ERROR ("(?:[^"\\]|\\.)*")\s*$`)

// marksOf returns the marks of a source by line.
func marksOf(source string) (map[int]*regexp.Regexp, error) {
	marks := map[int]*regexp.Regexp{}
	for i, line := range strings.Split(source, "\n") {
		if !strings.Contains(line, "// ERROR") {
			continue
		}
		m := markPattern.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d: not a mark: %s", i+1, line)
		}
		text, err := strconv.Unquote(m[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if marks[i+1], err = regexp.Compile(text); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return marks, nil
}
