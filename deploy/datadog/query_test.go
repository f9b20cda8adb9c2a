package datadog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fourfold/telemetry"
)

// A query is one metric query within a definition: aggregator:metric{filter} by {tags} and, for counts, .as_count().
type query struct {
	text, aggregator, metric string
	filters                  []filter
	by                       []string
	count                    bool
}

// A filter is key:value, key IN (values) or, with a key that is empty, a template variable.
type filter struct {
	key      string
	values   []string
	variable string
}

var (
	queryPattern = regexp.MustCompile(`(?:(\w+):)([a-z][a-z0-9_.]*)\{([^{}]*)\}(?: by \{([^{}]*)\})?(\.as_count\(\))?`)
	setPattern   = regexp.MustCompile(`^(\w+) (?:NOT )?IN \(([^()]*)\)$`)
)

// queriesIn finds every metric query in a text that may have arithmetic and functions around them.
func queriesIn(text string) ([]query, error) {
	var all []query
	for _, m := range queryPattern.FindAllStringSubmatch(text, -1) {
		q := query{text: m[0], aggregator: m[1], metric: m[2], count: m[5] != ""}
		if m[4] != "" {
			q.by = strings.Split(m[4], ",")
		}
		for part := range strings.SplitSeq(strings.ReplaceAll(splitSafe(m[3]), " AND ", ","), ",") {
			f, err := parseFilter(strings.ReplaceAll(part, ";", ","))
			if err != nil {
				return nil, fmt.Errorf("%w in %q", err, m[0])
			}
			q.filters = append(q.filters, f)
		}
		all = append(all, q)
	}
	// A metric outside a query would be one that the pattern does not fit.
	if rest := queryPattern.ReplaceAllString(text, "q"); strings.Contains(rest, telemetry.Namespace) || strings.Contains(rest, "{$") {
		return nil, fmt.Errorf("what is %q?", rest)
	}
	return all, nil
}

// splitSafe hides the commas of a set of values from the commas between filters.
func splitSafe(filters string) string {
	return regexp.MustCompile(`\([^()]*\)`).ReplaceAllStringFunc(filters, func(set string) string { return strings.ReplaceAll(set, ",", ";") })
}

func parseFilter(text string) (filter, error) {
	if name, ok := strings.CutPrefix(text, "$"); ok {
		return filter{variable: name}, nil
	}
	if m := setPattern.FindStringSubmatch(text); m != nil {
		return filter{key: m[1], values: strings.Split(m[2], ",")}, nil
	}
	key, value, ok := strings.Cut(text, ":")
	if !ok || value == "" || strings.ContainsAny(text, " !") {
		return filter{}, fmt.Errorf("filter %q", text)
	}
	return filter{key: key, values: []string{value}}, nil
}

// unified are the tags of unified service tagging, which every metric has.
var unified = []string{"env", "service", "version"}

// platform are metrics that Datadog's own integrations send and that have our unified tags.
var platform = []string{"kubernetes_state.deployment.replicas_available", "kubernetes.containers.restarts"}

var aggregators = map[telemetry.Type][]string{
	telemetry.Count:        {"sum"},
	telemetry.Gauge:        {"max", "avg", "min"},
	telemetry.Distribution: {"avg", "max", "min", "p50", "p95", "p99"},
}

// fault says what is wrong with a query, or nothing. Datadog itself would say nothing and show an empty graph.
func (q query) fault() string {
	if slices.Contains(platform, q.metric) {
		return ""
	}
	i := slices.IndexFunc(telemetry.Catalogue(), func(m telemetry.Metric) bool { return telemetry.Namespace+m.Name == q.metric })
	if i < 0 {
		return "the catalogue has no " + q.metric
	}
	m := telemetry.Catalogue()[i]
	allowed := aggregators[m.Type]
	if m.Global {
		allowed = []string{"max"}
	}
	if !slices.Contains(allowed, q.aggregator) {
		return fmt.Sprintf("a %s (global: %t) is not queried with %s", m.Type, m.Global, q.aggregator)
	}
	if q.count != (m.Type == telemetry.Count) {
		return "as_count() is for counts, and counts are queried with it"
	}
	tags := slices.Concat(unified, m.Tags)
	for _, key := range q.by {
		if !slices.Contains(tags, key) {
			return m.Name + " has no tag " + key
		}
	}
	for _, f := range q.filters {
		key := f.key + f.variable
		if !slices.Contains(tags, key) {
			return m.Name + " has no tag " + key
		}
		if why := unknownValue(key, f.values); why != "" {
			return why
		}
	}
	return ""
}

// unknownValue says which of the values the tag can never have. Datadog keeps tags in lower case.
func unknownValue(key string, values []string) string {
	for _, tag := range telemetry.Tags() {
		if tag.Key != key || tag.Values == nil {
			continue
		}
		for _, v := range values {
			if v != strings.ToLower(v) {
				return v + " is not in lower case"
			}
			if !slices.ContainsFunc(tag.Values, func(known string) bool { return strings.ToLower(known) == v }) {
				return key + " is never " + v
			}
		}
	}
	return ""
}

func TestQueryCheckRefusesWhatDatadogWouldShowEmpty(t *testing.T) {
	for _, text := range []string{
		"sum:fourfold.step.finish{*}",
		"sum:fourfold.step.finished{env:prod}",
		"avg:fourfold.step.finished{env:prod}.as_count()",
		"sum:fourfold.step.finished{run:x}.as_count()",
		"sum:fourfold.step.finished{outcome:FAILED}.as_count()",
		"sum:fourfold.step.finished{outcome:broken}.as_count()",
		"sum:fourfold.step.finished{outcome IN (ok,broken)}.as_count()",
		"sum:fourfold.step.finished{env:prod} by {run}.as_count()",
		"sum:fourfold.step.finished{$model}.as_count()",
		"sum:fourfold.queue.pending{env:prod}",
		"avg:fourfold.queue.pending{env:prod}",
		"max:fourfold.queue.pending{env:prod}.as_count()",
		"p95:fourfold.queue.pending{env:prod}",
		"sum:fourfold.step.latency{env:prod}",
		"p42:fourfold.step.latency{env:prod}",
		"fourfold.step.latency{env:prod}",
		"max:fourfold.step.latency",
		"sum:fourfold.step.finished{!env:prod}.as_count()",
	} {
		queries, err := queriesIn(text)
		if err != nil {
			continue
		}
		if len(queries) != 1 || queries[0].fault() == "" {
			t.Errorf("%q is taken", text)
		}
	}
	for _, text := range []string{
		"sum:fourfold.step.finished{$env,$flow,outcome:failed} by {flow,step}.as_count()",
		"sum:fourfold.run.finished{env:prod AND outcome IN (ok,degraded) AND cause NOT IN (canceled)}.as_count()",
		"max:fourfold.queue.oldest_pending{env:prod} by {queue}",
		"p95:fourfold.step.latency{$version} by {step}",
		"max:kubernetes.containers.restarts{$env}",
	} {
		queries, err := queriesIn(text)
		if err != nil || len(queries) != 1 || queries[0].fault() != "" {
			t.Errorf("%q is refused: %v %v", text, err, queries)
		}
	}
}
