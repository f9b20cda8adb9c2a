package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"fourfold/tasks"
)

// people is where text for people goes: standard output belongs to the document when JSON is asked for.
func (o Options) people() io.Writer {
	if o.JSON {
		return o.Streams.Err
	}
	return o.Streams.Out
}

// progress shows runs as they finish: a bar below the lines on a terminal, lines elsewhere.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	bar   *progressbar.ProgressBar // nil: no terminal
	total int
	done  int
}

func newProgress(o Options, total int) *progress {
	p := &progress{w: o.people(), total: total}
	if o.Streams.Terminal {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(o.Streams.Err),
			progressbar.OptionSetDescription("documents"),
			progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
		_ = p.bar.RenderBlank()
	}
	return p
}

func (p *progress) finished(r run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	line := fmt.Sprintf("%2d/%d  %-13s %-9s %6.1fs  %s", p.done, p.total, r.document.id, r.status.Outcome, lasted(r.status).Seconds(), why(r.status))
	fmt.Fprintln(p.w, strings.TrimRight(line, " "))
	if p.bar != nil {
		_ = p.bar.Add(1)
	}
}

func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

func lasted(st tasks.Status) time.Duration { return st.Finished.Sub(st.Created) }

// why names the marker's step and cause, or is empty.
func why(st tasks.Status) string {
	if st.Marker.Step.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s: %s", st.Marker.Step, st.Marker.Cause)
}
