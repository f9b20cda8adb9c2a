package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	kubectlLine = regexp.MustCompile(`(?m)kubectl [a-z].*?(?:$|` + "`" + `)`)
	namedObject = regexp.MustCompile(`\b(deployment|scaledobject|statefulset)/([a-z-]+)`)
)

// The documents' kubectl lines speak of objects that the overlays make, in namespaces that they make: the commands within a
// pod are tried by the suite of the built programs, which has no cluster.
func TestDocumentedKubectlCommandsNameWhatTheOverlaysMake(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	made := map[string][]string{} // by namespace
	for _, name := range []string{"dev", "prod"} {
		for _, obj := range render(t, name, "").objects {
			made[obj.Metadata.Namespace] = append(made[obj.Metadata.Namespace], strings.ToLower(obj.String()))
		}
	}
	lines := kubectlLine.FindAllString(string(text), -1)
	if len(lines) < 8 {
		t.Fatalf("%d lines found: the pattern no longer fits", len(lines))
	}
	for _, line := range lines {
		line = strings.Trim(line, "`")
		namespace := "fourfold"
		words := strings.Fields(line)
		if i := slices.Index(words, "-n"); i > 0 {
			namespace = words[i+1]
		}
		if made[namespace] == nil {
			t.Errorf("%s: no overlay makes the namespace %s", line, namespace)
		}
		for _, m := range namedObject.FindAllString(line, -1) {
			if !slices.Contains(made[namespace], m) {
				t.Errorf("%s: no overlay makes %s in %s", line, m, namespace)
			}
		}
		if _, inPod, ok := strings.Cut(line, " -- "); ok && !regexp.MustCompile(`^/(worker|enqueue) `).MatchString(inPod) {
			t.Errorf("%s: the image has nothing else than /worker and /enqueue", line)
		}
	}
}
