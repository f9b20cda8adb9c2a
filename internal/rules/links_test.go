package rules

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Runbooks that monitors link to. A monitor that fires at night must not lead nowhere.
var runbooks = []string{
	"outcomes-degraded", "outcomes-failed", "queue-backlog", "archived-tasks", "no-outcomes",
	"rate-limits", "breaker-open", "strays", "redis", "drain-cut",
}

func TestEachRunbookIsThere(t *testing.T) {
	there := anchors(read(t, "docs/operations.md"))
	for _, name := range runbooks {
		if !there[name] {
			t.Errorf("docs/operations.md has no heading for #%s", name)
		}
	}
	for _, f := range textFiles(t) {
		if !within(f.path, "deploy/datadog") {
			continue
		}
		for _, m := range regexp.MustCompile(`operations\.md#([a-z-]+)`).FindAllStringSubmatch(f.text, -1) {
			if !there[m[1]] {
				t.Errorf("%s links to the runbook #%s, which is not there", f.path, m[1])
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksInTheDocumentsLeadSomewhere(t *testing.T) {
	for _, f := range textFiles(t) {
		if !strings.HasSuffix(f.path, ".md") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(withoutCode(f.text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			text := f.text
			if target != "" {
				name := path.Join(f.folder(), target)
				info, err := os.Stat(filepath.Join(root, name))
				if err != nil {
					t.Errorf("%s links to %s, which is not there", f.path, m[1])
					continue
				}
				if info.IsDir() || anchor == "" {
					continue
				}
				text = read(t, name)
			}
			if anchor != "" && !anchors(text)[anchor] {
				t.Errorf("%s links to %s: there is no such heading", f.path, m[1])
			}
		}
	}
}

var (
	heading    = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	notInLinks = regexp.MustCompile(`[^\p{L}\p{N}\- ]`)
	fenced     = regexp.MustCompile("(?ms)^```.*?^```")
	inline     = regexp.MustCompile("`[^`\n]*`")
)

// anchors are the names that a Markdown page's headings get where it is shown.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := strings.ToLower(strings.TrimSpace(m[1]))
		names[strings.ReplaceAll(notInLinks.ReplaceAllString(name, ""), " ", "-")] = true
	}
	return names
}

func withoutCode(text string) string {
	return inline.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
}
