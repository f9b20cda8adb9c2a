package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestDocumentsAreThere(t *testing.T) {
	for path, heading := range map[string]string{
		"README.md":           "# Fourfold",
		"CHANGELOG.md":        "# Changelog",
		"CONTRIBUTING.md":     "# Contributing",
		"docs/design.md":      "# Fourfold",
		"docs/decisions.md":   "# ",
		"docs/operations.md":  "# ",
		"docs/rough_edges.md": "# ",
	} {
		if text := read(t, path); !strings.HasPrefix(text, heading) || len(text) < 300 {
			t.Errorf("%s must begin %q and say something", path, heading)
		}
	}
}

// The licence is the standard text, unchanged.
func TestLicenceIsApache2(t *testing.T) {
	sum := sha256.Sum256([]byte(read(t, "LICENSE")))
	if got, want := hex.EncodeToString(sum[:]), "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"; got != want {
		t.Errorf("LICENSE has SHA-256 %s, the Apache License 2.0 %s", got, want)
	}
}

var (
	directRequire = regexp.MustCompile(`(?m)^(?:require )?\t?([a-z0-9.-]+\.[a-z]+/\S+) v\S+$`)
	majorVersion  = regexp.MustCompile(`/v\d+$`)
)

// Each dependency was chosen, and docs/decisions.md says why.
func TestEachDirectDependencyIsADecision(t *testing.T) {
	decisions := read(t, "docs/decisions.md")
	direct := directRequire.FindAllStringSubmatch(read(t, "go.mod"), -1)
	if len(direct) == 0 {
		t.Fatal("go.mod names no direct dependency: the pattern no longer fits")
	}
	for _, m := range direct {
		if name := majorVersion.ReplaceAllString(m[1], ""); !strings.Contains(decisions, filepath.Base(name)) {
			t.Errorf("docs/decisions.md does not say why %s was chosen", name)
		}
	}
}

var makeRule = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):(.*)$`)

// makeTargets returns the Makefile's targets with the line that `make` prints of each.
func makeTargets(t *testing.T) map[string]string {
	t.Helper()
	targets := map[string]string{}
	for _, m := range makeRule.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		if _, twice := targets[m[1]]; twice {
			t.Errorf("Makefile: %s is there twice", m[1])
		}
		_, doc, _ := strings.Cut(m[2], "## ")
		targets[m[1]] = doc
	}
	return targets
}

func TestEachMakeTargetIsExplained(t *testing.T) {
	text := read(t, "Makefile")
	for name, doc := range makeTargets(t) {
		if doc == "" {
			t.Errorf("Makefile: %s has no `## ` line for `make` to print", name)
		}
		if !strings.Contains(text, ".PHONY: "+name+"\n") {
			t.Errorf("Makefile: %s is not declared .PHONY", name)
		}
	}
	out, err := exec.CommandContext(t.Context(), "make", "-C", root, "--no-print-directory").CombinedOutput()
	if err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	for name := range makeTargets(t) {
		if !regexp.MustCompile(`(?m)^  make ` + name + ` `).Match(out) {
			t.Errorf("bare make does not print %s", name)
		}
	}
}

func TestContinuousIntegrationRunsTheTests(t *testing.T) {
	text := read(t, ".ci/run")
	for _, target := range []string{"test", "lint", "vet", "tidy", "manifests", "dashboards", "vulncheck"} {
		if !regexp.MustCompile(`(?m)^step .* make ` + target + `$`).MatchString(text) {
			t.Errorf(".ci/run does not run make %s", target)
		}
	}
	for _, script := range shellScripts(t) {
		if out, err := exec.CommandContext(t.Context(), "bash", "-n", filepath.Join(root, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
		info, err := os.Stat(filepath.Join(root, script))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode()&0o111 == 0 {
			t.Errorf("%s is not executable", script)
		}
	}
}

func shellScripts(t *testing.T) []string {
	t.Helper()
	var scripts []string
	for _, f := range textFiles(t) {
		if strings.HasPrefix(f.text, "#!") && strings.Contains(strings.SplitN(f.text, "\n", 2)[0], "bash") {
			scripts = append(scripts, f.path)
		}
	}
	if len(scripts) == 0 {
		t.Fatal("no script found")
	}
	return scripts
}
