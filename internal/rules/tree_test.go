package rules

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository's top folder, seen from this package.
const root = "../.."

// file is a text file of the repository: its path from the top, with slashes, and what it says.
type file struct {
	path string
	text string
}

// skippedFolders hold nothing that is written by hand.
var skippedFolders = []string{".git", "bin", "dist", "node_modules"}

// textFiles returns every text file of the repository, nested modules included.
func textFiles(t *testing.T) []file {
	t.Helper()
	var files []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(skippedFolders, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !isText(d.Name()) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files = append(files, file{filepath.ToSlash(name), string(text)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files found: the rules look in the wrong place", len(files))
	}
	return files
}

func isText(name string) bool {
	switch filepath.Ext(name) {
	case ".go", ".md", ".mod", ".yaml", ".yml", ".json", ".jsonl", ".sh", ".tmpl", ".txt", ".txtar", ".golden", ".lua", ".svg", "":
		return name != ".DS_Store"
	}
	if name == ".git" { // of a linked work tree: where it belongs to
		return false
	}
	return strings.HasPrefix(name, "Dockerfile") || strings.HasPrefix(name, ".git") || name == ".dockerignore"
}

// goFiles returns the Go files of the main module: those that `go test ./...` compiles, and no testdata.
func goFiles(t *testing.T) []file {
	t.Helper()
	nested := nestedModules(t)
	var files []file
	for _, f := range textFiles(t) {
		if !strings.HasSuffix(f.path, ".go") || slices.Contains(strings.Split(f.path, "/"), "testdata") {
			continue
		}
		if slices.ContainsFunc(nested, func(m string) bool { return strings.HasPrefix(f.path, m+"/") }) {
			continue
		}
		files = append(files, f)
	}
	return files
}

// nestedModules returns the folders below the top that have a go.mod of their own.
func nestedModules(t *testing.T) []string {
	t.Helper()
	var modules []string
	for _, f := range textFiles(t) {
		if dir, ok := strings.CutSuffix(f.path, "/go.mod"); ok {
			modules = append(modules, dir)
		}
	}
	return modules
}

// folder is the package's folder from the top; the top itself is ".".
func (f file) folder() string {
	return filepath.ToSlash(filepath.Dir(filepath.FromSlash(f.path)))
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// generated reports the header that go/ast knows, in any language's comment.
func (f file) generated() bool {
	head := f.text[:min(len(f.text), 400)]
	return strings.Contains(head, "Code generated ") && strings.Contains(head, "DO NOT EDIT")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatalf("%s must exist: %v", path, err)
	}
	return string(text)
}
