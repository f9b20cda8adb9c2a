package flow

import (
	"fmt"
	"strings"

	"fourfold/executor"
)

func sameID(a, b executor.StepID) bool { return a == b }

// outline writes a flow as one line per step: what the executor and the queue get to see.
func outline(f *Flow) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s deadline=%v fail_fast=%v\n", f.Name, f.Deadline, f.FailFast)
	for _, s := range f.Steps {
		fmt.Fprintf(&b, "%d %s needs=%s children=%s", s.Index, s.ID, edgeText(s.Needs), edgeText(s.Children))
		if s.Handler != "" {
			fmt.Fprintf(&b, " handler=%s", s.Handler)
		} else {
			fmt.Fprintf(&b, " chain=%s requires=%v params=%s", s.Chain, capabilityNames(s.Requires), paramText(s))
		}
		fmt.Fprintf(&b, " budget=%d×%v/%v+%v", s.Budget.Attempts, s.Budget.PerAttempt, s.Budget.Total, s.Budget.Backoff)
		if s.MaxWait != 0 {
			fmt.Fprintf(&b, " max_wait=%v", s.MaxWait)
		}
		if s.ForEach != nil {
			fmt.Fprintf(&b, " for_each=%+v", *s.ForEach)
		}
		for _, mark := range []struct {
			name string
			has  bool
		}{
			{"sink", s.Sink()},
			{"absorbable", s.Absorbable()},
			{"abstain", s.HasAbstain()},
			{"degrade", s.HasDegrade()},
			{"schema", s.OutputSchema() != nil},
		} {
			if mark.has {
				b.WriteString(" " + mark.name)
			}
		}
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

func edgeText(edges []Edge) string {
	var parts []string
	for _, e := range edges {
		parts = append(parts, fmt.Sprintf("%s@%d:%v", e.Step, e.Index, e.Mode))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func paramText(s *Step) string {
	var parts []string
	p := s.Params
	if p.Temperature != nil {
		parts = append(parts, fmt.Sprintf("temperature=%v", *p.Temperature))
	}
	if p.TopP != nil {
		parts = append(parts, fmt.Sprintf("top_p=%v", *p.TopP))
	}
	if p.MaxTokens != nil {
		parts = append(parts, fmt.Sprintf("max_tokens=%v", *p.MaxTokens))
	}
	if p.Seed != nil {
		parts = append(parts, fmt.Sprintf("seed=%v", *p.Seed))
	}
	if p.Stop != nil {
		parts = append(parts, fmt.Sprintf("stop=%q", p.Stop))
	}
	return "[" + strings.Join(parts, " ") + "]"
}
