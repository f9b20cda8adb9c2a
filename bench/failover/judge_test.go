package main

import (
	"testing"
	"time"

	"fourfold/executor"
)

// The program's verdicts are worth something only if each check can fail.
func TestVerdicts(t *testing.T) {
	ended := func(o executor.Outcome, text string) answer {
		return answer{text: text, took: time.Second, envelope: executor.Envelope{
			Outcome: o, Model: executor.ModelVersionOf("primary"), Usage: executor.Tokens(input, tokens),
		}}
	}
	ok, failed := ended(executor.OutcomeOK, sixty), ended(executor.OutcomeFailed, "")
	slow := ok
	slow.took = time.Hour
	calls := func(gaps ...time.Duration) seen {
		at := time.Unix(0, 0)
		s := seen{primary: []time.Time{at}}
		for _, gap := range gaps {
			at = at.Add(gap)
			s.primary = append(s.primary, at)
		}
		return s
	}
	second := time.Second
	for _, c := range []struct {
		name   string
		expect expectation
		answer answer
		seen   seen
		want   verdict
	}{
		{"the whole answer", expectation{}, ok, calls(), pass},
		{"a clean error", expectation{}, failed, calls(), safe},
		{"part of the answer", expectation{}, ended(executor.OutcomeOK, sixty[:99]), calls(), fail},
		{"an error with a text", expectation{}, ended(executor.OutcomeFailed, "x"), calls(), fail},
		{"too late", expectation{within: 10}, slow, calls(), fail},
		{"five calls in three seconds", expectation{}, ok, calls(0, second, second, second), fail},
		{"five calls in four seconds", expectation{}, ok, calls(second, second, second, second), pass},
		{"seven calls", expectation{}, ok, calls(second, second, second, second, second, second), fail},
		{"the same request again", expectation{exactly: 1}, ok, calls(second), fail},
		{"a refusal", expectation{exactly: 1, cleanError: true}, failed, calls(), pass},
		{"a refusal got around", expectation{exactly: 1, cleanError: true}, ok, calls(), partial},
		{"moved on at once", expectation{atLeast: 2}, ok, calls(), partial},
		{"asked again too early", expectation{gap: 1.8}, ok, calls(second), partial},
		{"asked again in time", expectation{gap: 1.8}, ok, calls(2 * second), pass},
		{"silence asked again", expectation{atMost: 1}, ok, calls(second), partial},
		{"a late first token", expectation{advisory: 0.5}, ok, calls(), partial},
		{"on the wrong model", expectation{fromFallback: true}, ok, calls(), fail},
		{"without usage", expectation{usage: true}, answer{text: sixty, envelope: executor.Envelope{Outcome: executor.OutcomeOK}}, calls(), partial},
	} {
		if got := judge(fault{expect: c.expect}, 1, c.answer, c.seen); got.verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, got.verdict, got.why, c.want)
		}
	}
}

func TestPublishedVerdictsAreComplete(t *testing.T) {
	for _, p := range published {
		if len(p.verdicts) != len(faults) {
			t.Errorf("%s has %d verdicts, want %d", p.name, len(p.verdicts), len(faults))
		}
	}
}
