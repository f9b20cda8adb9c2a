package flow

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// archive is several files in one: each begins with a line `-- name --`. What stands before the first says what the
// archive is for.
type archive struct {
	about string
	names []string
	files map[string]string
}

func parseArchive(text string) archive {
	a := archive{files: map[string]string{}}
	name := ""
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(n, " --\n") {
			name = strings.TrimSuffix(n, " --\n")
			a.names = append(a.names, name)
			a.files[name] = ""
			continue
		}
		if name == "" {
			a.about += line
			continue
		}
		a.files[name] += line
	}
	return a
}

func (a archive) format() string {
	var b strings.Builder
	b.WriteString(a.about)
	for _, name := range a.names {
		b.WriteString("-- " + name + " --\n" + a.files[name])
	}
	return b.String()
}

// fs is the archive as a file system. Escapes of Go (\r, \ufeff) stand for what a text editor would not keep in
// files whose name ends in .raw, which loses that end.
func (a archive) fs(t *testing.T) fs.FS {
	t.Helper()
	m := fstest.MapFS{}
	for name, text := range a.files {
		if n, ok := strings.CutSuffix(name, ".raw"); ok {
			name, text = n, unescape(t, text)
		}
		m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return m
}

func unescape(t *testing.T, text string) string {
	t.Helper()
	replaced := strings.NewReplacer(`\r`, "\r", `\ufeff`, "\ufeff", `\xff`, "\xff", `\x01`, "\x01", `\t`, "\t").Replace(text)
	return replaced
}

// archives reads the archives of a folder by name.
func archives(t *testing.T, pattern string) map[string]archive {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives at %s (%v)", pattern, err)
	}
	found := map[string]archive{}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		found[p] = parseArchive(string(text))
	}
	return found
}

// load loads the archive's flow.yaml.
func (a archive) load(t *testing.T) *Bundle {
	t.Helper()
	b, err := Load(a.fs(t), "flow.yaml")
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return b
}
