package datadog

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/DataDog/datadog-api-client-go/v2/api/datadog"
	"github.com/DataDog/datadog-api-client-go/v2/api/datadogV1"
)

// definitions returns everything as it is installed for an environment.
func definitions(t *testing.T, env string) []Definition {
	t.Helper()
	all, err := Definitions(env)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[Kind]int{}
	for _, d := range all {
		kinds[d.Kind]++
	}
	if kinds[SLO] < 2 || kinds[Monitor] < 10 || kinds[Dashboard] != 1 {
		t.Fatalf("found %v: files are missing", kinds)
	}
	return all
}

// strictly reads a definition with Datadog's own client and returns what the client did not understand.
func strictly(d Definition) error {
	var into any
	switch d.Kind {
	case SLO:
		into = new(datadogV1.ServiceLevelObjectiveRequest)
	case Monitor:
		into = new(datadogV1.Monitor)
	case Dashboard:
		into = new(datadogV1.Dashboard)
	}
	if err := json.Unmarshal(d.JSON, into); err != nil {
		return err
	}
	if unparsed, what := datadog.ContainsUnparsedObject(into); unparsed {
		return fmt.Errorf("not understood: %+v", what)
	}
	if where := additional(reflect.ValueOf(into), string(d.Kind)); where != "" {
		return fmt.Errorf("unknown field %s", where)
	}
	return nil
}

// additional finds a field that the client kept only because it does not know it.
func additional(v reflect.Value, where string) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return additional(v.Elem(), where)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if found := additional(v.Index(i), fmt.Sprintf("%s[%d]", where, i)); found != "" {
				return found
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Name == "AdditionalProperties" {
				for _, key := range v.Field(i).MapKeys() {
					return where + "." + key.String()
				}
				continue
			}
			if !field.IsExported() {
				continue
			}
			if found := additional(v.Field(i), where+"."+field.Name); found != "" {
				return found
			}
		}
	}
	return ""
}

func TestDefinitionsAreReadStrictlyByDatadogsClient(t *testing.T) {
	for _, d := range definitions(t, "prod") {
		if err := strictly(d); err != nil {
			t.Errorf("%s: %v", d.Path, err)
		}
	}
}

// The check itself must refuse: what it does not see would be silently ignored by Datadog.
func TestStrictReadingRefusesMistakes(t *testing.T) {
	for _, c := range []struct {
		kind     Kind
		old, new string
	}{
		{Dashboard, `"layout_type": "ordered"`, `"layout_type": "orderly"`},
		{Dashboard, `"type": "timeseries"`, `"type": "timeserie"`},
		{Dashboard, `"display_type": "bars"`, `"display_type": "bar"`},
		{Dashboard, `"show_legend": true`, `"show_legends": true`},
		{Dashboard, `"template_variables"`, `"template_variable"`},
		{Dashboard, `"response_format": "scalar"`, `"response_format": "scalars"`},
		{Monitor, `"type": "query alert"`, `"type": "query-alert"`},
		{Monitor, `"on_missing_data"`, `"on_mising_data"`},
		{Monitor, `"on_missing_data": "resolve"`, `"on_missing_data": "ignore"`},
		{Monitor, `"critical"`, `"critcal"`},
		{SLO, `"type": "metric"`, `"type": "metrics"`},
		{SLO, `"timeframe": "7d"`, `"timeframe": "7days"`},
		{SLO, `"target"`, `"targets"`},
	} {
		tried := false
		for _, d := range definitions(t, "prod") {
			if d.Kind != c.kind || !strings.Contains(string(d.JSON), c.old) {
				continue
			}
			tried = true
			d.JSON = []byte(strings.ReplaceAll(string(d.JSON), c.old, c.new))
			if strictly(d) == nil {
				t.Errorf("%s with %s is taken", d.Path, c.new)
			}
		}
		if !tried {
			t.Errorf("no %s has %s", c.kind, c.old)
		}
	}
}
