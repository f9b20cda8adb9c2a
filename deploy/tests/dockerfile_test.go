package tests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/opencontainers/go-digest"
)

func dockerfile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lint returns what BuildKit itself says of a Dockerfile: the rules' names, or the error of the build.
func lint(t *testing.T, text string) []string {
	t.Helper()
	source := llb.NewSourceMap(nil, "Dockerfile", "Dockerfile", []byte(text))
	source.Definition = &llb.Definition{}
	results, err := dockerfile2llb.DockerfileLint(t.Context(), []byte(text), dockerfile2llb.ConvertOpt{SourceMap: source, MetaResolver: noRegistry{}})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, w := range results.Warnings {
		found = append(found, w.RuleName+": "+w.Detail)
	}
	if results.Error != nil {
		found = append(found, "error: "+results.Error.Message)
	}
	return found
}

// noRegistry stands in for the registry: each base image is there, and is empty.
type noRegistry struct{}

func (noRegistry) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	return ref, digest.FromString(ref), []byte(`{"architecture":"amd64","os":"linux"}`), nil
}

func TestDockerfileIsClean(t *testing.T) {
	for _, fault := range lint(t, dockerfile(t)) {
		t.Error(fault)
	}
}

func TestDockerfileLintFindsMistakes(t *testing.T) {
	text := dockerfile(t)
	for _, c := range []struct{ right, wrong, rule string }{
		{`ENTRYPOINT ["/worker"]`, `ENTRYPOINT /worker`, "JSONArgsRecommended"},
		{"WORKDIR /src", "WORKDIR src", "WorkdirRelativePath"},
		{"COPY --from=build", "COPPY --from=build", "error"},
		{" AS build", " as build", "FromAsCasing"},
		{"${VERSION}\"\nUSER", "${VERSIN}\"\nUSER", "UndefinedVar"},
	} {
		broken := strings.Replace(text, c.right, c.wrong, 1)
		if found := strings.Join(lint(t, broken), "\n"); broken == text || !strings.Contains(found, c.rule) {
			t.Errorf("%q instead of %q: want %s, found %q", c.wrong, c.right, c.rule, found)
		}
	}
}

// The last stage is what runs: not as root, without a shell, with both binaries.
func TestImageRunsTheWorkerWithoutRootOrShell(t *testing.T) {
	parsed, err := parser.Parse(strings.NewReader(dockerfile(t)))
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	final := stages[len(stages)-1]
	got := map[string]any{}
	labels := map[string]bool{}
	for _, c := range final.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			got["user"] = c.User
		case *instructions.EntrypointCommand:
			got["entrypoint"] = strings.Join(c.CmdLine, " ")
			got["entrypoint by shell"] = c.PrependShell
		case *instructions.CmdCommand:
			got["cmd"] = strings.Join(c.CmdLine, " ")
			got["cmd by shell"] = c.PrependShell
		case *instructions.CopyCommand:
			got["copied"] = strings.Join(c.SourcePaths, " ") + " from " + c.From
		case *instructions.LabelCommand:
			for _, l := range c.Labels {
				labels[strings.Trim(l.Key, `"`)] = true
			}
		case *instructions.RunCommand:
			t.Errorf("the last stage runs %s: it has no shell to do so", c)
		}
	}
	want := map[string]any{
		"user": "65532:65532", "entrypoint": "/worker", "entrypoint by shell": false, "cmd": "run", "cmd by shell": false,
		"copied": "/out/worker /out/enqueue from build",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("last stage (-want +got):\n%s", diff)
	}
	for _, l := range []string{"title", "description", "licenses", "source", "revision", "version"} {
		if !labels["org.opencontainers.image."+l] {
			t.Errorf("no label org.opencontainers.image.%s", l)
		}
	}
	for _, need := range []string{"CGO_ENABLED=0", "-trimpath", "-buildvcs=false", "ARG DD_GIT_REPOSITORY_URL", "ARG DD_GIT_COMMIT_SHA"} {
		if !strings.Contains(dockerfile(t), need) {
			t.Errorf("the Dockerfile lacks %s", need)
		}
	}
}

var linkerFlags = regexp.MustCompile(`-ldflags "([^"]+)"`)

// The linker ignores a variable that is not there, without a word: so ask the binary which version it is.
func TestImageKnowsItsVersion(t *testing.T) {
	m := linkerFlags.FindStringSubmatch(dockerfile(t))
	if m == nil {
		t.Fatal("the Dockerfile has no -ldflags")
	}
	worker := buildWorker(t, "-ldflags", strings.ReplaceAll(m[1], "${VERSION}", "v9.8.7"))
	out, err := exec.CommandContext(t.Context(), worker, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "v9.8.7") {
		t.Errorf("worker version: %v\n%s", err, out)
	}
}

// buildWorker builds cmd/worker with further flags of go build.
func buildWorker(t *testing.T, flags ...string) string {
	t.Helper()
	worker := filepath.Join(t.TempDir(), "worker")
	build := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-o", worker}, flags, []string{"./cmd/worker"})...)
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return worker
}

// The image is built with the Go that the module asks for, or a later one.
func TestImageIsBuiltWithTheModulesGo(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))
	if m == nil || !strings.Contains(dockerfile(t), "ARG GO_IMAGE=golang:"+m[1]+".") {
		t.Errorf("go.mod says %q, and the Dockerfile's GO_IMAGE is another", m)
	}
}
