package handlers_test

import (
	"encoding/json"
	"testing"

	"fourfold/cmd/internal/handlers"
	"fourfold/content"
	"fourfold/executor"
	"fourfold/flow"
)

func TestAssembleTakesWhatThereIs(t *testing.T) {
	parent := func(o executor.Outcome, v string) flow.Parent {
		if v == "" {
			return flow.Parent{Outcome: o}
		}
		return flow.Parent{Outcome: o, Value: content.New(json.RawMessage(v))}
	}
	for _, c := range []struct {
		parents map[executor.StepID]flow.Parent
		want    string
	}{
		{nil, `{}`},
		{map[executor.StepID]flow.Parent{
			executor.MustStepID("b"):      parent(executor.OutcomeOK, `[1, 2]`),
			executor.MustStepID("a"):      parent(executor.OutcomeDegraded, `null`),
			executor.MustStepID("failed"): parent(executor.OutcomeFailed, ""),
		}, `{"a":null,"b":[1,2]}`},
	} {
		reply, err := handlers.Stock()["assemble"](t.Context(), flow.Inputs{Steps: c.parents})
		if err != nil || string(reply.Value) != c.want || reply.Usage.Known() {
			t.Errorf("%s, %v; want %s", reply.Value, err, c.want)
		}
	}
}
