package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"fourfold/cmd/internal/cli"
	"fourfold/executor"
)

// progress shows how far a batch is: a bar on a terminal, silence elsewhere.
type progress struct {
	err   io.Writer
	mu    sync.Mutex
	bar   *progressbar.ProgressBar // nil: no terminal
	waits bool
	tally tally
}

func newProgress(s cli.Streams, total int, waits bool) *progress {
	p := &progress{err: s.Err, waits: waits}
	if s.Terminal {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(s.Err),
			progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(true),
		)
	}
	return p
}

// skip counts rows of an earlier go.
func (p *progress) skip(t tally) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally = t
	if p.bar != nil && t.total() > 0 {
		_ = p.bar.Set(t.total())
	}
	switch n := t.total(); n {
	case 0:
	case 1:
		fmt.Fprintln(p.err, "1 row is there already")
	default:
		fmt.Fprintf(p.err, "%d rows are there already\n", n)
	}
}

func (p *progress) done(r row) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.add(r.outcome, r.problem != "", r.before)
	if p.bar == nil {
		return
	}
	if p.waits {
		p.bar.Describe(p.describe())
	}
	_ = p.bar.Add(1)
}

// describe is the counts by outcome in front of the bar.
func (p *progress) describe() string {
	var parts []string
	for _, o := range []executor.Outcome{executor.OutcomeOK, executor.OutcomeDegraded, executor.OutcomeAbstained, executor.OutcomeFailed} {
		if n := p.tally.outcomes[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", o, n))
		}
	}
	return strings.Join(parts, "  ")
}

// say prints a line without tearing the bar.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.err, text)
}

func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
