package telemetry_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/telemetry"
)

// flushed tells s something and returns the lines that the next flush sends, without their namespace.
func flushed(s *telemetry.Sink, out *buffer, tell func()) []string {
	tell()
	before := len(out.String())
	s.Flush()
	var lines []string
	for line := range strings.Lines(out.String()[before:]) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "|c:")
		lines = append(lines, strings.TrimPrefix(line, telemetry.Namespace))
	}
	return lines
}

func TestOpenBreakersAreSentAgainAndAgainAndTheirEndOnce(t *testing.T) {
	var out buffer
	s := telemetry.NewToWriter(&out)
	defer s.Close()
	other := executor.ModelVersionOf("other-model")
	flushed(s, &out, func() {
		s.CallFinished(t.Context(), provider.Call{Provider: primary, ModelProvider: openai, Model: gpt, Kind: provider.KindNetwork})
	})
	nothing := func() {}
	for i, c := range []struct {
		tell func()
		want []string
	}{
		{func() { s.BreakerChanged(primary, gpt, true) }, []string{"provider.breaker_open:1|g|#model_provider:openai"}},
		{nothing, []string{"provider.breaker_open:1|g|#model_provider:openai"}},
		{func() { s.BreakerChanged(primary, other, true) }, []string{"provider.breaker_open:2|g|#model_provider:openai"}},
		{func() { s.BreakerChanged(primary, gpt, false) }, []string{"provider.breaker_open:1|g|#model_provider:openai"}},
		{func() { s.BreakerChanged(primary, other, false) }, []string{"provider.breaker_open:0|g|#model_provider:openai"}},
		{nothing, nil},
		{func() { s.BreakerChanged(backup, claude, true) }, []string{"provider.breaker_open:1|g|#model_provider:none"}}, // never called: its kind is not known
	} {
		if diff := cmp.Diff(c.want, flushed(s, &out, c.tell)); diff != "" {
			t.Errorf("%d: -want +got:\n%s", i, diff)
		}
	}
}

func TestStraysOfAStepAreSentUntilTheyHaveEnded(t *testing.T) {
	var out buffer
	s := telemetry.NewToWriter(&out)
	defer s.Close()
	stray := func(n ...telemetry.StepStrays) func() {
		return func() { s.Fleet(telemetry.Fleet{StraysByStep: n}) }
	}
	strays := func(tell func()) (lines []string) {
		for _, l := range flushed(s, &out, tell) {
			if strings.HasPrefix(l, "step.strays") {
				lines = append(lines, l)
			}
		}
		return lines
	}
	one := telemetry.StepStrays{Flow: "f", Step: classify, Strays: 3}
	for i, c := range []struct {
		tell func()
		want []string
	}{
		{stray(one), []string{"step.strays:3|g|#flow:f,step:classify-tables"}},
		{stray(), []string{"step.strays:3|g|#flow:f,step:classify-tables"}}, // nil: not known
		{stray(telemetry.StepStrays{Flow: "g", Step: classify, Strays: 1}), []string{"step.strays:0|g|#flow:f,step:classify-tables", "step.strays:1|g|#flow:g,step:classify-tables"}},
		{stray(telemetry.StepStrays{Flow: "g", Step: classify}), []string{"step.strays:0|g|#flow:g,step:classify-tables"}},
		{stray(one), []string{"step.strays:3|g|#flow:f,step:classify-tables"}},
		{func() { s.Fleet(telemetry.Fleet{StraysByStep: []telemetry.StepStrays{}}) }, []string{"step.strays:0|g|#flow:f,step:classify-tables"}},
		{func() {}, nil},
	} {
		got := strays(c.tell)
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d: -want +got:\n%s", i, diff)
		}
	}
}
