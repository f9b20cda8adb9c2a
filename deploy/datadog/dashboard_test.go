package datadog

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/telemetry"
)

// The parts of the dashboard that the checks look at.
type (
	board struct {
		Title     string
		Variables []struct{ Name, Prefix string } `json:"template_variables"`
		Widgets   []struct{ Definition group }
	}
	group struct {
		Title   string
		Type    string
		Widgets []struct{ Definition widget }
	}
	widget struct {
		Title    string
		Type     string
		Content  string
		Requests []request
	}
	request struct {
		Format   string `json:"response_format"`
		Queries  []struct{ Name, Query, Aggregator string }
		Formulas []struct{ Formula string }
	}
)

func readBoard(t *testing.T) board {
	t.Helper()
	all := definitions(t, "prod")
	var b board
	if err := json.Unmarshal(all[len(all)-1].JSON, &b); err != nil {
		t.Fatal(err)
	}
	if len(b.Widgets) < 8 {
		t.Fatalf("the dashboard has %d rows", len(b.Widgets))
	}
	return b
}

func TestDashboardQueriesFitTheCatalogue(t *testing.T) {
	b := readBoard(t)
	shown := map[string]bool{}
	used := map[string]bool{}
	for _, row := range b.Widgets {
		for _, w := range row.Definition.Widgets {
			if w.Definition.Type == "note" {
				continue
			}
			where := row.Definition.Title + ": " + w.Definition.Title
			if len(w.Definition.Requests) == 0 {
				t.Errorf("%s shows nothing", where)
			}
			for _, r := range w.Definition.Requests {
				for _, q := range r.Queries {
					queries, err := queriesIn(q.Query)
					if err != nil || len(queries) != 1 {
						t.Errorf("%s: %d queries in %q: %v", where, len(queries), q.Query, err)
						continue
					}
					if fault := queries[0].fault(); fault != "" {
						t.Errorf("%s: %q: %s", where, q.Query, fault)
					}
					if !slices.Contains(platform, queries[0].metric) {
						checkVariables(t, where, b, queries[0])
					}
					shown[queries[0].metric] = true
					for _, f := range queries[0].filters {
						used[f.variable] = true
					}
				}
			}
		}
	}
	for _, m := range telemetry.Catalogue() {
		if !shown[telemetry.Namespace+m.Name] {
			t.Errorf("%s is on no graph", m.Name)
		}
	}
	for _, v := range b.Variables {
		if !used[v.Name] || v.Prefix != v.Name {
			t.Errorf("variable %s is used nowhere, or stands for another tag", v.Name)
		}
	}
}

// checkVariables requires that a query obeys every variable that its metric has the tag of: a graph that ignores the chosen
// flow misleads.
func checkVariables(t *testing.T, where string, b board, q query) {
	t.Helper()
	var has []string
	for _, f := range q.filters {
		if f.variable != "" {
			has = append(has, f.variable)
		}
	}
	i := slices.IndexFunc(telemetry.Catalogue(), func(m telemetry.Metric) bool { return telemetry.Namespace+m.Name == q.metric })
	if i < 0 {
		return
	}
	tags := slices.Concat(unified, telemetry.Catalogue()[i].Tags)
	declared := map[string]bool{}
	for _, v := range b.Variables {
		declared[v.Name] = true
		if slices.Contains(tags, v.Name) && !slices.Contains(has, v.Name) {
			t.Errorf("%s: %q does not obey $%s", where, q.text, v.Name)
		}
	}
	for _, name := range has {
		if !declared[name] {
			t.Errorf("%s: $%s is not declared", where, name)
		}
	}
}

var identifier = regexp.MustCompile(`[a-z_][a-z0-9_]*`)

func TestFormulasNameQueriesThatAreThere(t *testing.T) {
	functions := []string{"default_zero"}
	for _, row := range readBoard(t).Widgets {
		for _, w := range row.Definition.Widgets {
			for _, r := range w.Definition.Requests {
				names := map[string]bool{}
				for _, q := range r.Queries {
					if names[q.Name] || q.Name == "" {
						t.Errorf("%s: query name %q twice or empty", w.Definition.Title, q.Name)
					}
					names[q.Name] = false
					if (q.Aggregator != "") != (r.Format == "scalar") {
						t.Errorf("%s: scalars need an aggregator, and only they", w.Definition.Title)
					}
				}
				if len(r.Formulas) == 0 {
					t.Errorf("%s: no formula", w.Definition.Title)
				}
				for _, f := range r.Formulas {
					for _, name := range identifier.FindAllString(f.Formula, -1) {
						if slices.Contains(functions, name) {
							continue
						}
						if _, ok := names[name]; !ok {
							t.Errorf("%s: %q names %s, which is no query", w.Definition.Title, f.Formula, name)
						}
						names[name] = true
					}
				}
				for name, used := range names {
					if !used {
						t.Errorf("%s: no formula names %s", w.Definition.Title, name)
					}
				}
			}
		}
	}
}

// The README says which question each row answers; so does the note at the head of the row.
func TestReadmeListsTheRows(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, row := range readBoard(t).Widgets {
		g := row.Definition
		if g.Type != "group" || len(g.Widgets) < 2 || g.Widgets[0].Definition.Type != "note" {
			t.Errorf("row %s does not begin with its question", g.Title)
			continue
		}
		question := g.Widgets[0].Definition.Content
		if !strings.Contains(question, "?") {
			t.Errorf("row %s asks nothing", g.Title)
		}
		var titles []string
		for _, w := range g.Widgets[1:] {
			titles = append(titles, w.Definition.Title)
		}
		want = append(want, fmt.Sprintf("| %s | %s | %s |", g.Title, question, strings.Join(titles, "; ")))
	}
	if diff := cmp.Diff(want, tableAfter(string(readme), "## Rows of the dashboard")); diff != "" {
		t.Errorf("README.md (-dashboard +README):\n%s", diff)
	}
}

// tableAfter returns the lines of the first table after the heading, without its head.
func tableAfter(text, heading string) []string {
	_, rest, _ := strings.Cut(text, heading+"\n")
	var lines []string
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "|") {
			lines = append(lines, line)
		} else if len(lines) > 0 {
			break
		}
	}
	return lines[min(2, len(lines)):]
}
