package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Installing is tried with stand-ins for the package managers, which write down what they were told.
func TestNeedInstallsOnlyWhatIsMissing(t *testing.T) {
	const apt = "#!/bin/sh\necho \"apt-get $*\" >>\"$LOG\"\ncase \"$*\" in *install*) [ -e \"$LISTS\" ] || exit 100; for p in $PROVIDES; do printf '#!/bin/sh\\n' >\"$BIN/$p\"; chmod +x \"$BIN/$p\"; done ;; *update*) : >\"$LISTS\" ;; esac\n"
	const brew = "#!/bin/sh\necho \"brew $*\" >>\"$LOG\"\nfor p in $PROVIDES; do printf '#!/bin/sh\\n' >\"$BIN/$p\"; chmod +x \"$BIN/$p\"; done\n"
	for _, c := range []struct {
		name     string
		managers map[string]string
		present  []string
		lists    bool // the package lists are there
		provides string
		fails    bool
		want     []string // in what the package manager was told
	}{
		{name: "nothing is missing", present: []string{"redis-server", "gcc"}, managers: map[string]string{"apt-get": apt}},
		{
			name: "Debian with its lists", present: []string{"gcc"}, managers: map[string]string{"apt-get": apt}, lists: true, provides: "redis-server",
			want: []string{"install -y -q --no-install-recommends redis-server"},
		},
		{
			name: "a new Debian without lists", managers: map[string]string{"apt-get": apt}, provides: "redis-server gcc",
			want: []string{"install", "update", "install -y -q --no-install-recommends redis-server gcc libc6-dev"},
		},
		{
			name: "macOS", present: []string{"gcc"}, managers: map[string]string{"brew": brew}, provides: "redis-server",
			want: []string{"brew install --quiet redis"},
		},
		{name: "no package manager", fails: true},
		{name: "installed in vain", managers: map[string]string{"apt-get": apt}, lists: true, fails: true, want: []string{"install"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bin, log, lists := t.TempDir(), filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "lists")
			for _, p := range c.present {
				program(t, bin, p, "#!/bin/sh\n")
			}
			for name, text := range c.managers {
				program(t, bin, name, text)
			}
			program(t, bin, "sudo", "#!/bin/sh\nexec \"$@\"\n")
			for _, tool := range []string{"bash", "sh", "env", "id", "chmod"} {
				path, err := exec.LookPath(tool)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
					t.Fatal(err)
				}
			}
			if c.lists {
				program(t, filepath.Dir(lists), filepath.Base(lists), "")
			}
			cmd := exec.CommandContext(t.Context(), "bash", "scripts/need", "redis-server", "gcc")
			cmd.Dir = root
			cmd.Env = []string{"PATH=" + bin, "BIN=" + bin, "LOG=" + log, "LISTS=" + lists, "PROVIDES=" + c.provides}
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails {
				t.Fatalf("error %v, want one: %v\n%s", err, c.fails, out)
			}
			told, _ := os.ReadFile(log)
			rest := string(told)
			for _, want := range c.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("the package manager was not told %q, in this order: %q", want, told)
				}
				rest = after
			}
			if len(c.want) == 0 && len(told) > 0 {
				t.Errorf("the package manager was told %q", told)
			}
		})
	}
}

func program(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
