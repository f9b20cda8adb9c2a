package main

import (
	"strings"
	"testing"
)

const (
	config    = `{"config": {"scanner_name": "govulncheck"}}`
	reachable = `{"finding": {"osv": "GO-2026-0001", "fixed_version": "v1.26.9", "trace": [{"module": "stdlib", "package": "net/http", "function": "Get"}]}}`
	required  = `{"finding": {"osv": "GO-2026-0002", "trace": [{"module": "example.org/x"}]}}`
)

func TestOnlyWhatIsReachableAndNotExplainedFails(t *testing.T) {
	for _, c := range []struct {
		name, list, report string
		want               string // in the error; empty: none
	}{
		{"nothing found", "", config, ""},
		{"found in a module that is required and never called", "", config + required, ""},
		{"reachable and not explained", "", config + reachable, "1 vulnerabilities"},
		{"reachable and explained", "# why\n\nGO-2026-0001 only a client of ours\n", config + reachable, ""},
		{"explained without a reason", "GO-2026-0001\n", config, "want an id and a reason"},
		{"another one explained", "GO-2026-0003 because\n", config + reachable, "1 vulnerabilities"},
		{"no report at all", "", "", "reported nothing"},
		{"a report that breaks off", "", config + `{"finding": {`, "report"},
	} {
		var out strings.Builder
		err := run(strings.NewReader(c.list), strings.NewReader(c.report), &out)
		if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q\n%s", c.name, err, c.want, out.String())
		}
	}
}
