package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// published is the scorecard of Failover Bench (github.com/failoverbench/failoverbench, methodology v0.1, profile full,
// 2026-09-12): one verdict for each of S01 to S16.
var published = []struct{ name, verdicts string }{
	{"reference client (httpx)", "pppppppppppppppp"},
	{"DeepSeek Harness + fallbacks", "apapppappspppppp"},
	{"Portkey Gateway", "ppppppaFFpppaFpp"},
	{"Bifrost v2.1.1", "appppFasspppaspp"},
	{"LangChain with_fallbacks", "pppppaasssppaspp"},
	{"LiteLLM proxy", "pppppaasssppaspp"},
	{"LiteLLM Router", "pppppaasssppaspp"},
	{"LiteLLM Router, tuned", "pppppaasssppaspp"},
	{"openai-python", "pspspspssspspsss"},
	{"no gateway", "sssssspssppspsss"},
}

// report prints the table of faults and the table of systems.
func report(w io.Writer, systems []system, results [][]result) {
	fmt.Fprintln(w, "Calls are primary/fallback, as the servers saw them; the gap is between the first two to the primary.")
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\t")
	for _, s := range systems {
		fmt.Fprintf(t, "fourfold, %s\tcalls\tgap\ttook\t", s.name)
	}
	fmt.Fprintln(t, "remark")
	for j, f := range faults {
		fmt.Fprintf(t, "%s %s\t", f.id, f.title)
		remark := ""
		for i := range systems {
			r := results[i][j]
			gap := "-"
			if r.gap > 0 {
				gap = seconds(r.gap)
			}
			fmt.Fprintf(t, "%s\t%d/%d\t%s\t%s\t", r.verdict, r.primary, r.backup, gap, seconds(r.took))
			for _, more := range []string{r.why, r.note} {
				if more != "" {
					remark += systems[i].name + ": " + more + ". "
				}
			}
		}
		fmt.Fprintln(t, remark)
	}
	_ = t.Flush()
	fmt.Fprintln(w)
	scores(w, systems, results)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// scores prints one line for each system, ours and the others.
func scores(w io.Writer, systems []system, results [][]result) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprint(t, "p pass, a partial, s safe, F fail\t")
	for _, f := range faults {
		fmt.Fprintf(t, "%s\t", f.id[1:])
	}
	fmt.Fprintln(t, " passed")
	line := func(name, verdicts string) {
		fmt.Fprintf(t, "%s\t", name)
		for _, v := range verdicts {
			fmt.Fprintf(t, "%c\t", v)
		}
		fmt.Fprintf(t, " %d/%d\n", strings.Count(verdicts, string(pass)), len(faults))
	}
	for i, s := range systems {
		var verdicts strings.Builder
		for _, r := range results[i] {
			verdicts.WriteByte(byte(r.verdict))
		}
		line("fourfold, "+s.name, verdicts.String())
	}
	for _, p := range published {
		line(p.name, p.verdicts)
	}
	_ = t.Flush()
	fmt.Fprintln(w, "Of the others: as published by Failover Bench on 2026-09-12 (methodology v0.1), at full length and on its own machine.")
}
