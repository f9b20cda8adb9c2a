package main

import (
	"context"
	"sync"
	"time"

	"fourfold/executor"
	"fourfold/internal/faultserver"
)

// result is one fault met by one system.
type result struct {
	verdict         verdict
	why             string // the first check that failed
	primary, backup int    // calls that the servers saw
	gap             time.Duration
	took            time.Duration
	note            string
}

// meet plays one fault.
func meet(ctx context.Context, s system, f fault, c clock) result {
	started := time.Now()
	var mu sync.Mutex
	healthy := false
	primary, err := faultserver.Start(ctx, func(r faultserver.Request) faultserver.Answer {
		mu.Lock()
		defer mu.Unlock()
		if healthy {
			return good("primary")
		}
		return f.primary(r.N, time.Since(started), c)
	})
	if err != nil {
		return result{verdict: fail, why: "no server"}
	}
	defer primary.Close()
	fallback, err := faultserver.Start(ctx, func(r faultserver.Request) faultserver.Answer {
		if _, role := wantsModel(r.Body); f.prefill && role == "assistant" {
			return refusal(400, "invalid_request_error", "invalid_prefill")
		}
		return good("fallback")
	})
	if err != nil {
		return result{verdict: fail, why: "no server"}
	}
	defer fallback.Close()
	stack, err := s.stack(primary.URL(), fallback.URL(), c)
	if err != nil {
		return result{verdict: fail, why: "not configured"}
	}
	if f.sequence {
		return stack.outage(ctx, primary, fallback, started)
	}
	a := stack.ask(ctx)
	seen := seenBy(primary, fallback)
	r := judge(f, c, a, seen)
	if f.expect.alive && r.verdict != fail {
		mu.Lock()
		healthy = true
		mu.Unlock()
		if stack.ask(ctx).text != sixty {
			r.verdict, r.why = fail, "not alive afterwards"
		}
	}
	return r
}

// seen is what the servers saw.
type seen struct {
	primary []time.Time
	backup  int
}

func seenBy(primary, fallback *faultserver.Server) seen {
	s := seen{backup: len(fallback.Calls())}
	for _, call := range primary.Calls() {
		s.primary = append(s.primary, call.At)
	}
	return s
}

// within returns the most calls in any such window.
func (s seen) within(window time.Duration) int {
	most := 0
	for i, from := range s.primary {
		n := 0
		for _, at := range s.primary[i:] {
			if at.Sub(from) <= window {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// outage sends twenty requests, one every four of the benchmark's seconds, while the primary is down for sixty and well
// afterwards. Each must be answered, and the primary must answer again within thirty of its recovery.
func (s *stack) outage(ctx context.Context, primary, fallback *faultserver.Server, started time.Time) result {
	const requests, every, down, back = 20, 4, 60, 30
	answers := make([]answer, requests)
	var running sync.WaitGroup
	tick := time.NewTicker(s.clock.of(every))
	defer tick.Stop()
	for i := range answers {
		running.Go(func() { answers[i] = s.ask(ctx) })
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	running.Wait()
	seen := seenBy(primary, fallback)
	r := result{verdict: pass, primary: len(seen.primary), backup: seen.backup, took: time.Since(started)}
	during := 0
	for _, at := range seen.primary {
		if at.Sub(started) < s.clock.of(down) {
			during++
		}
	}
	recovered := false
	for i, a := range answers {
		if a.text != sixty || a.envelope.Outcome != executor.OutcomeOK {
			return r.failed(fail, "a request was not answered")
		}
		if at := s.clock.of(every * float64(i)); a.envelope.Model.String() == "primary" && at <= s.clock.of(down+back) {
			recovered = true
		}
	}
	if !recovered {
		return r.failed(fail, "not back on the primary in time")
	}
	r.note = noteOf(during)
	return r
}
