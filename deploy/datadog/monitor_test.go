package datadog

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type monitor struct {
	Type, Name, Query, Message string
	Priority                   int
	Tags                       []string
	Options                    struct {
		Thresholds struct {
			Critical *float64
			Warning  *float64
		}
		OnMissingData string `json:"on_missing_data"`
	}
}

func monitors(t *testing.T, env string) map[string]monitor {
	t.Helper()
	all := map[string]monitor{}
	for _, d := range definitions(t, env) {
		if d.Kind != Monitor {
			continue
		}
		var m monitor
		if err := json.Unmarshal(d.JSON, &m); err != nil {
			t.Fatal(err)
		}
		all[d.ID] = m
	}
	return all
}

var (
	comparison  = regexp.MustCompile(`^(.*) > ([0-9.]+)$`)
	window      = regexp.MustCompile(`^(sum|min|max|avg)\(last_\d+[mh]\):(.*)$`)
	burnRate    = regexp.MustCompile(`^burn_rate\("\{\{slo:([a-z-]+)\}\}"\)\.over\("(?:7d|30d|90d)"\)\.long_window\("\d+h"\)\.short_window\("\d+m"\)$`)
	groupNames  = regexp.MustCompile(`\{\{(\w+)\.name\}\}`)
	runbookLink = regexp.MustCompile(`\n\nRunbook: docs/operations\.md#([a-z-]+)$`)
)

func TestMonitorQueriesFitTheCatalogueAndTheirThresholds(t *testing.T) {
	for id, m := range monitors(t, "prod") {
		parts := comparison.FindStringSubmatch(m.Query)
		if parts == nil {
			t.Errorf("%s: no threshold in %q", id, m.Query)
			continue
		}
		critical, err := strconv.ParseFloat(parts[2], 64)
		if err != nil || m.Options.Thresholds.Critical == nil || *m.Options.Thresholds.Critical != critical {
			t.Errorf("%s: the query compares with %s, the critical threshold is another", id, parts[2])
		}
		if w := m.Options.Thresholds.Warning; w != nil && *w >= critical {
			t.Errorf("%s warns at %v, after it is critical at %v", id, *w, critical)
		}
		if m.Type == "slo alert" {
			if burnRate.FindStringSubmatch(parts[1]) == nil {
				t.Errorf("%s: %q is no burn rate", id, parts[1])
			}
			continue
		}
		body := window.FindStringSubmatch(parts[1])
		if body == nil {
			t.Errorf("%s: no window in %q", id, parts[1])
			continue
		}
		queries, err := queriesIn(body[2])
		if err != nil || len(queries) == 0 {
			t.Errorf("%s: %v in %q", id, err, body[2])
		}
		for _, q := range queries {
			if fault := q.fault(); fault != "" {
				t.Errorf("%s: %q: %s", id, q.text, fault)
			}
			if !slices.ContainsFunc(q.filters, func(f filter) bool { return f.key == "env" }) {
				t.Errorf("%s: %q mixes environments", id, q.text)
			}
			if diff := cmp.Diff(queries[0].by, q.by); diff != "" {
				t.Errorf("%s: its queries are grouped in two ways:\n%s", id, diff)
			}
		}
		for _, name := range groupNames.FindAllStringSubmatch(m.Name+m.Message, -1) {
			if !slices.Contains(queries[0].by, name[1]) {
				t.Errorf("%s names {{%s.name}}, and is not grouped by it", id, name[1])
			}
		}
	}
}

func TestMonitorsSayWhatToDoAndHowMuchMustHaveHappened(t *testing.T) {
	for id, m := range monitors(t, "prod") {
		if !runbookLink.MatchString(m.Message) {
			t.Errorf("%s has no runbook: %q", id, m.Message)
		}
		if !strings.Contains(m.Message, "\n\nMinimum volume: ") {
			t.Errorf("%s does not say its minimum volume", id)
		}
		if m.Priority < 1 || m.Priority > 4 {
			t.Errorf("%s has priority %d", id, m.Priority)
		}
		// Datadog has no such choice for burn rates: an objective without events burns nothing.
		missing := m.Options.OnMissingData
		if (m.Type == "slo alert") != (missing == "") {
			t.Errorf("%s: on_missing_data is %q", id, missing)
		}
		// Gauges of the queue are absent when no worker runs, and that is no alarm.
		if strings.Contains(m.Query, "fourfold.queue.") && missing != "resolve" {
			t.Errorf("%s: without workers its gauge is absent; on_missing_data must be resolve", id)
		}
	}
}

func TestEachObjectiveIsWellFormedAndEachBurnRateHasOne(t *testing.T) {
	ids := map[string]bool{}
	for _, d := range definitions(t, "prod") {
		if d.Kind != SLO {
			continue
		}
		ids[d.ID] = true
		var slo struct {
			Query struct{ Numerator, Denominator string }
		}
		if err := json.Unmarshal(d.JSON, &slo); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{slo.Query.Numerator, slo.Query.Denominator} {
			queries, err := queriesIn(text)
			if err != nil || len(queries) != 1 || queries[0].fault() != "" {
				t.Errorf("%s: %q: %v %v", d.ID, text, err, queries)
			}
		}
	}
	for id, m := range monitors(t, "prod") {
		if m.Type != "slo alert" {
			continue
		}
		if name := burnRate.FindStringSubmatch(comparison.FindStringSubmatch(m.Query)[1]); name == nil || !ids[name[1]] {
			t.Errorf("%s watches no objective of ours: %s", id, m.Query)
		}
	}
}

func TestDefinitionsCarryTheirMarkAndEnvironment(t *testing.T) {
	for _, env := range []string{"prod", "staging"} {
		for _, d := range definitions(t, env) {
			if d.Kind == Dashboard {
				continue
			}
			var got struct {
				Name string
				Tags []string
			}
			if err := json.Unmarshal(d.JSON, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"managed-by:fourfold", d.Tag(), "env:" + env}, got.Tags); diff != "" {
				t.Errorf("%s (-want +got):\n%s", d.Path, diff)
			}
			if !strings.HasPrefix(got.Name, "[Fourfold "+env+"] ") {
				t.Errorf("%s: name %q does not say whose it is", d.Path, got.Name)
			}
			if env != "prod" && strings.Contains(string(d.JSON), "env:prod") {
				t.Errorf("%s watches prod for %s", d.Path, env)
			}
		}
	}
	if _, err := Definitions(`x"}`); err == nil {
		t.Error("an environment that breaks the files is taken")
	}
}

// The README lists the monitors with their runbooks, so that an operator finds one from the other.
func TestReadmeListsTheMonitors(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, d := range definitions(t, "prod") {
		if d.Kind != Monitor {
			continue
		}
		m := monitors(t, "prod")[d.ID]
		_, volume, _ := strings.Cut(m.Message, "\n\nMinimum volume: ")
		volume, _, _ = strings.Cut(volume, "\n")
		anchor := runbookLink.FindStringSubmatch(m.Message)
		want = append(want, fmt.Sprintf("| %s | %s | P%d | [%s](../../docs/operations.md#%s) |", d.ID, volume, m.Priority, anchor[1], anchor[1]))
	}
	if diff := cmp.Diff(want, tableAfter(string(readme), "## Monitors")); diff != "" {
		t.Errorf("README.md (-monitors +README):\n%s", diff)
	}
}

var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

func TestEachRunbookIsThere(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		anchors[strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = true
	}
	for id, m := range monitors(t, "prod") {
		if link := runbookLink.FindStringSubmatch(m.Message); link == nil || !anchors[link[1]] {
			t.Errorf("%s: docs/operations.md has no heading for %v", id, link)
		}
	}
}
