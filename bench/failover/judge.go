package main

import (
	"fmt"
	"time"

	"fourfold/executor"
)

// verdict is the benchmark's.
type verdict byte

// The verdicts: the caller got the whole answer and the conduct was right; got it, but an advisory check failed; did not get
// it, but a clean error in time; anything worse.
const (
	pass    verdict = 'p'
	partial verdict = 'a'
	safe    verdict = 's'
	fail    verdict = 'F'
)

func (v verdict) String() string {
	switch v {
	case pass:
		return "pass"
	case partial:
		return "partial"
	case safe:
		return "safe"
	case fail:
	}
	return "FAIL"
}

func (r result) failed(v verdict, why string) result {
	r.verdict, r.why = v, why
	return r
}

// Conduct that holds for every single call: to one provider at most four requests in three seconds, and six in all.
const (
	window   = 3 * time.Second
	inWindow = 4
	inAll    = 6
)

// judge applies the benchmark's checks to one call.
func judge(f fault, c clock, a answer, s seen) result {
	x := f.expect
	r := result{verdict: pass, primary: len(s.primary), backup: s.backup, took: a.took}
	if len(s.primary) > 1 {
		r.gap = s.primary[1].Sub(s.primary[0])
	}
	answered := a.err == nil && a.envelope.Outcome == executor.OutcomeOK
	longest := c.of(total) + 10*time.Second
	if x.within > 0 {
		longest = c.of(x.within) + window // what is not scaled
	}
	for _, check := range []struct {
		failed bool
		why    string
	}{
		{a.err != nil, "no outcome"},
		{answered && a.text != sixty, "an answer that is not the whole answer"},
		{!answered && a.text != "", "an error with a text"},
		{a.took > longest, "too slow"},
		{s.within(window) > inWindow, "too many calls at once"},
		{len(s.primary) > inAll, "too many calls"},
		{x.exactly > 0 && len(s.primary) != x.exactly, "the same request was sent again"},
		{x.fromFallback && answered && a.envelope.Model.String() != "fallback", "booked on the wrong model"},
	} {
		if check.failed {
			return r.failed(fail, check.why)
		}
	}
	if x.cleanError {
		if answered {
			return r.failed(partial, "the refusal was got around")
		}
		return r
	}
	if !answered {
		return r.failed(safe, "a clean error")
	}
	for _, check := range []struct {
		failed bool
		why    string
	}{
		{len(s.primary) < x.atLeast, "moved on without asking the same provider again"},
		{x.atMost > 0 && len(s.primary) > x.atMost, "asked a silent provider again"},
		{x.gap > 0 && r.gap < time.Duration(x.gap*float64(time.Second)), "asked again too early"},
		{x.advisory > 0 && a.took > c.of(x.advisory), "waited for a late first token"},
		{x.usage && a.envelope.Usage != executor.Tokens(input, tokens), "usage missing or wrong"},
	} {
		if check.failed {
			return r.failed(partial, check.why)
		}
	}
	return r
}

func noteOf(during int) string { return fmt.Sprintf("%d calls while down", during) }
