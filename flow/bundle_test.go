package flow

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestGoodBundlesLoadAndTravel(t *testing.T) {
	for path, a := range archives(t, "testdata/good/*.txt") {
		t.Run(path, func(t *testing.T) {
			loaded := a.load(t)
			decoded, err := Decode(loaded.Encode())
			if err != nil {
				t.Fatalf("Decode: %v", err)
			}
			if decoded.SHA() != loaded.SHA() || !bytes.Equal(decoded.Encode(), loaded.Encode()) {
				t.Error("a bundle changes on the way")
			}
			if diff := cmp.Diff(loaded.Flow(), decoded.Flow(), cmpopts.IgnoreUnexported(Step{}), cmp.Comparer(sameID)); diff != "" {
				t.Errorf("flow (-loaded +decoded):\n%s", diff)
			}
			if diff := cmp.Diff(strings.TrimSpace(a.files["outline"]), outline(loaded.Flow())); diff != "" && !*update {
				t.Errorf("outline (-want +got):\n%s", diff)
			}
			if *update {
				if _, ok := a.files["outline"]; !ok {
					a.names = append(a.names, "outline")
				}
				a.files["outline"] = outline(loaded.Flow()) + "\n"
				if err := os.WriteFile(path, []byte(a.format()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// The SHA follows the bytes of the files that the flow names, and their names; nothing else.
func TestTheSHAFollowsEveryFile(t *testing.T) {
	a := archives(t, "testdata/good/intake.txt")["testdata/good/intake.txt"]
	base := a.load(t).SHA()
	shaOf := func(change func(files map[string]string)) SHA {
		t.Helper()
		changed := archive{files: maps.Clone(a.files)}
		change(changed.files)
		return changed.load(t).SHA()
	}
	seen := map[SHA]string{base: "the flow as it is"}
	for name := range a.files {
		if name == "outline" {
			continue
		}
		sha := shaOf(func(files map[string]string) { files[name] += "\n" })
		if other, ok := seen[sha]; ok {
			t.Errorf("a change of %s has the SHA of %s", name, other)
		}
		seen[sha] = "a change of " + name
	}
	if sha := shaOf(func(files map[string]string) {
		files["flow.yaml"] = strings.Replace(files["flow.yaml"], "system.tmpl", "other.tmpl", 1)
		files["prompts/other.tmpl"] = files["prompts/system.tmpl"]
	}); seen[sha] != "" {
		t.Error("another name has the same SHA")
	}
	if shaOf(func(files map[string]string) { files["prompts/unused.tmpl"] = "x" }) != base {
		t.Error("a file that the flow does not name changes the SHA")
	}
	folder := fstest.MapFS{}
	for name, text := range a.files {
		folder["deep/folder/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	b, err := Load(folder, "deep/folder/flow.yaml")
	if err != nil || b.SHA() != base {
		t.Errorf("the folder changes the SHA (%v)", err)
	}
}

func TestProblemsNameTheFlowFilesFolder(t *testing.T) {
	_, err := Load(fstest.MapFS{"flows/intake/flow.yaml": {Data: []byte("flow: f")}}, "flows/intake/flow.yaml")
	if want := "flows/intake/flow.yaml: the flow has no steps"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// brokenFS stands for a parser that cannot bear what it reads.
type brokenFS struct{ fstest.MapFS }

func (b brokenFS) Open(name string) (fs.File, error) {
	if name == "p.tmpl" {
		panic(errors.New("canary"))
	}
	return b.MapFS.Open(name)
}

func TestAPanicInAParserIsAProblem(t *testing.T) {
	fsys := brokenFS{fstest.MapFS{"p.tmpl": {}, "flow.yaml": {Data: []byte("flow: f\nsteps:\n  - id: s\n    prompt: p.tmpl\n" + budgetLine)}}}
	b, err := Load(fsys, "flow.yaml")
	if want := "flow.yaml: cannot be checked: a parser failed with a panic (*errors.errorString)"; b != nil || err == nil || err.Error() != want {
		t.Errorf("got %v, %v; want %s", b, err, want)
	}
}

func TestLoadRefusesNamesThatAreNone(t *testing.T) {
	for _, name := range []string{"", ".", "/flow.yaml", "../flow.yaml", "folder"} {
		b, err := Load(fstest.MapFS{"folder/flow.yaml": {}}, name)
		if _, ok := errors.AsType[Problems](err); b != nil || !ok {
			t.Errorf("%q: got %v, %v", name, b, err)
		}
	}
}

// A folder on disk, as a ConfigMap is mounted: links to files beside them are followed, others are not.
func TestLinksAreFollowedWithinTheFolder(t *testing.T) {
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, path string) {
		t.Helper()
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	outer := t.TempDir()
	folder := filepath.Join(outer, "flows")
	flowText := func(prompt string) string {
		return "flow: f\nsteps:\n  - id: s\n    prompt: " + prompt + "\n" + budgetLine
	}
	write(filepath.Join(outer, "secret.tmpl"), "secret")
	write(filepath.Join(folder, "..2024", "p.tmpl"), "Hello.")
	link("..2024", filepath.Join(folder, "..data"))
	link("..data/p.tmpl", filepath.Join(folder, "p.tmpl"))
	link("../secret.tmpl", filepath.Join(folder, "out.tmpl"))
	link(filepath.Join(outer, "secret.tmpl"), filepath.Join(folder, "absolute.tmpl"))
	link("..", filepath.Join(folder, "up"))
	link("loop.tmpl", filepath.Join(folder, "loop.tmpl"))
	link("gone.tmpl", filepath.Join(folder, "dangling.tmpl"))
	root, err := os.OpenRoot(outer)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for prompt, want := range map[string]string{
		"p.tmpl":         "",
		"..data/p.tmpl":  "",
		"out.tmpl":       "prompt: out.tmpl: leaves the flow file's folder",
		"absolute.tmpl":  "prompt: absolute.tmpl: leaves the flow file's folder",
		"up/secret.tmpl": "prompt: up/secret.tmpl: leaves the flow file's folder",
		"loop.tmpl":      "prompt: loop.tmpl: is a chain of too many links",
		"dangling.tmpl":  "prompt: dangling.tmpl: there is no such file",
	} {
		write(filepath.Join(folder, "flow.yaml"), flowText(prompt))
		for kind, fsys := range map[string]fs.FS{"os.DirFS": os.DirFS(outer), "os.Root": root.FS()} {
			_, err := Load(fsys, "flows/flow.yaml")
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "flows/flow.yaml:4:13: ")
			}
			if got != want {
				t.Errorf("%s in %s: got %q, want %q", prompt, kind, got, want)
			}
		}
	}
}

func TestFilesAreBounded(t *testing.T) {
	step := func(i string) string { return "  - id: s" + i + "\n    prompt: " + i + ".tmpl\n" }
	big := strings.Repeat("x", maxFile)
	if _, err := tryBundle(step("1"), map[string]string{"1.tmpl": big}); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
	_, err := tryBundle(step("1"), map[string]string{"1.tmpl": big + "x"})
	if err == nil || !strings.HasSuffix(err.Error(), "is larger than 1 MiB") {
		t.Errorf("more than 1 MiB: %v", err)
	}
	var steps strings.Builder
	files := map[string]string{}
	for _, i := range strings.Split("1 2 3 4 5 6 7 8", " ") {
		steps.WriteString(step(i))
		files[i+".tmpl"] = big
	}
	_, err = tryBundle(steps.String(), files)
	if err == nil || !strings.HasSuffix(err.Error(), errBundle.Error()) {
		t.Errorf("more than 8 MiB: %v", err)
	}
	_, err = Load(fstest.MapFS{"flow.yaml": {Data: []byte("flow: " + strings.Repeat("f", maxFlowFile))}}, "flow.yaml")
	if err == nil || !strings.HasSuffix(err.Error(), "is larger than 512 KiB") {
		t.Errorf("large flow file: %.80v", err)
	}
}
