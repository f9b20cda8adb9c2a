package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "fourfold"

// A layer is a package with those below it in the tree, and what its code (its tests aside) may import of this module
// and of the dependencies that have a place.
type layer struct {
	folder string
	own    []string // packages of this module, with those below them
	gated  []string // names in gatedDependencies
}

// Imports point one way: cmd → tasks → flow → provider → executor → content (docs/design.md, Packages).
// A new package is a decision: it gets a line here. The first line that fits counts.
var layers = []layer{
	{"content", nil, nil},
	{"executor", []string{"content"}, nil},
	{"provider", []string{"provider", "executor", "content"}, nil},
	{"flow", []string{"flow", "provider", "executor", "content"}, nil},
	{"telemetry/traces", []string{"telemetry", "provider", "executor"}, []string{"otel", "otel-sdk", "otlp"}},
	{"telemetry", []string{"telemetry", "provider", "executor"}, []string{"zerolog", "datadog-go", "otel"}},
	{"tasks/internal/soak", []string{""}, []string{"go-redis"}}, // programs that prove what tasks promises
	{"tasks/internal/mutants", nil, nil},
	{"tasks", []string{"tasks", "telemetry", "flow", "provider", "executor", "content"}, []string{"asynq", "go-redis", "otel"}},
	{"cmd", []string{""}, []string{"asynq", "go-redis", "zerolog", "datadog-go", "miniredis", "otel"}},
	// Programs and helpers that show or test the others; nothing of the product imports them.
	{"examples", []string{""}, []string{"asynq", "go-redis", "zerolog", "datadog-go", "miniredis"}},
	{"bench", []string{""}, []string{"asynq", "go-redis", "zerolog", "datadog-go", "miniredis"}},
	{"deploy", []string{""}, nil},
	{"internal", []string{""}, []string{"asynq", "go-redis", "miniredis"}},
}

// leaves are the layers that no other layer may import; but the demo, in cmd, runs an example.
var leaves = []string{"cmd", "examples", "bench", "deploy"}

// gatedDependencies may be imported only by the layers that name them.
var gatedDependencies = map[string]string{
	"asynq":      "github.com/hibiken/asynq",
	"go-redis":   "github.com/redis/go-redis",
	"zerolog":    "github.com/rs/zerolog",
	"datadog-go": "github.com/DataDog/datadog-go",
	"miniredis":  "github.com/alicebob/miniredis",
	// The interfaces of traces; their machinery is the business of telemetry/traces alone.
	"otel":     "go.opentelemetry.io/otel",
	"otel-sdk": "go.opentelemetry.io/otel/sdk",
	"otlp":     "go.opentelemetry.io/otel/exporters",
}

// standardOnly import nothing from outside but the standard library.
var standardOnly = []string{"executor", "content"}

func TestImportsPointOneWay(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		l, ok := layerOf(f.folder())
		if !ok {
			t.Errorf("%s: the package has no line in layers (imports_test.go): say what it may import", f.path)
			continue
		}
		for _, path := range imports(t, f) {
			if why := l.refuses(f.folder(), path); why != "" {
				t.Errorf("%s imports %s: %s", f.path, path, why)
			}
		}
	}
}

// refuses says why the layer may not import path, or nothing.
func (l layer) refuses(folder, path string) string {
	if path == module || strings.HasPrefix(path, module+"/") {
		own := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
		if i := slices.IndexFunc(leaves, func(leaf string) bool { return within(own, leaf) }); i >= 0 && !within(folder, leaves[i]) && (l.folder != "cmd" || leaves[i] != "examples") {
			return "nothing may import " + leaves[i]
		}
		if !within(own, l.folder) && !slices.ContainsFunc(l.own, func(p string) bool { return within(own, p) }) {
			return "imports point the other way"
		}
		return ""
	}
	if strings.Contains(strings.Split(path, "/")[0], ".") && slices.Contains(standardOnly, l.folder) {
		return l.folder + " has the standard library only"
	}
	for name, prefix := range gatedDependencies {
		if within(path, prefix) && !slices.Contains(l.gated, name) {
			return name + " has no place in " + l.folder
		}
	}
	return ""
}

// The rule itself must refuse: a table that lets everything pass would hold nothing.
func TestImportRuleRefusesWhatTheDesignForbids(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"executor", "fourfold/provider"},
		{"executor", "github.com/google/go-cmp/cmp"},
		{"content", "fourfold/executor"},
		{"provider/openai", "fourfold/flow"},
		{"provider", "github.com/redis/go-redis/v9"},
		{"flow", "github.com/hibiken/asynq"},
		{"flow", "fourfold/tasks"},
		{"telemetry", "fourfold/content"},
		{"telemetry", "fourfold/tasks"},
		{"provider", "go.opentelemetry.io/otel/trace"},
		{"flow", "go.opentelemetry.io/otel/trace"},
		{"tasks", "go.opentelemetry.io/otel/sdk/trace"},
		{"telemetry", "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"},
		{"cmd/worker", "go.opentelemetry.io/otel/sdk/trace"},
		{"tasks", "github.com/rs/zerolog"},
		{"tasks", "github.com/DataDog/datadog-go/v5/statsd"},
		{"tasks", "fourfold/cmd/worker"},
		{"cmd/worker", "fourfold/bench"},
	} {
		l, ok := layerOf(c.from)
		if !ok || l.refuses(c.from, c.to) == "" {
			t.Errorf("%s may import %s: the rule does not hold", c.from, c.to)
		}
	}
}

// cmd reads flags, files and the environment and wires; nothing else looks at the environment.
func TestOnlyCommandsReadTheEnvironment(t *testing.T) {
	readers := []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.Args"}
	for _, f := range goFiles(t) {
		l, _ := layerOf(f.folder())
		if f.isTest() || slices.Contains([]string{"cmd", "examples", "bench", "internal", "tasks/internal/soak", "tasks/internal/mutants"}, l.folder) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && slices.Contains(readers, x.Name+"."+s.Sel.Name) {
					t.Errorf("%s reads %s.%s: only cmd does", f.path, x.Name, s.Sel.Name)
				}
			}
			return true
		})
		if slices.Contains(imports(t, f), "flag") {
			t.Errorf("%s imports flag: only cmd has flags", f.path)
		}
	}
}

func layerOf(folder string) (layer, bool) {
	i := slices.IndexFunc(layers, func(l layer) bool { return within(folder, l.folder) })
	if i < 0 {
		return layer{}, false
	}
	return layers[i], true
}

// within reports whether path is top or lies below it; everything lies below the empty path.
func within(path, top string) bool {
	return top == "" || path == top || strings.HasPrefix(path, top+"/")
}

func imports(t *testing.T, f file) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}
