package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
	"fourfold/cmd/internal/flowfile"
	"fourfold/flow"
	"fourfold/telemetry"
)

// A finding is one thing that was looked at. Its text holds names of the configuration and facts about Redis, never content.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Text    string  `json:"text"`
}

type verdict string

// What a finding can be. Only bad makes the exit status 1.
const (
	good    verdict = "ok"
	warning verdict = "warning"
	bad     verdict = "bad"
)

type checkCommand struct {
	settings
	Flows []string `name:"flow" placeholder:"FLOW.yaml" sep:"none" help:"Hold this flow against the configuration; may be given several times."`
	Probe bool     `help:"Ask every provider one short question; this may cost a few tokens."`
	JSON  bool     `name:"json" help:"Print one JSON document."`
}

func (c *checkCommand) Run(ctx context.Context, streams cli.Streams) error {
	redis.SetLogger(silent{})
	file, err := c.load()
	if err != nil {
		return err
	}
	findings := []finding{{"configuration", good, strings.Join([]string{
		cli.Count(len(file.Providers), "provider"), cli.Count(len(file.Chains), "chain"), cli.Count(len(file.Queues), "queue"),
	}, ", ")}}
	if len(file.Chains) == 0 {
		findings[0] = finding{"configuration", bad, "no providers: name some in worker.yaml, or set OPENAI_API_KEY"}
	}
	flows, found := loadFlows(c.Flows)
	findings = append(findings, found...)
	findings = append(findings, checkTimes(file, c.Grace, flows)...)
	findings = append(findings, c.checkRedis(ctx, file)...)
	findings = append(findings, checkProviders(file, os.LookupEnv)...)
	findings = append(findings, checkFlows(file, flows)...)
	if c.Probe {
		findings = append(findings, probeAll(ctx, file, os.LookupEnv)...)
	}
	return c.report(streams, findings)
}

func (c *checkCommand) checkRedis(ctx context.Context, file *config.File) []finding {
	rdb, err := file.Redis.Client(config.ForCommand, 1, os.LookupEnv)
	if err != nil {
		return []finding{{"redis", bad, cli.Text(err)}}
	}
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return checkRedis(ctx, rdb, file.Redis.Place(), len(file.FleetLimits()) > 0)
}

func (c *checkCommand) report(streams cli.Streams, findings []finding) error {
	ok := true
	for _, f := range findings {
		ok = ok && f.Verdict != bad
	}
	if c.JSON {
		err := printJSON(streams, struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{ok, findings})
		if err != nil {
			return err
		}
	} else {
		t := cli.Table{Header: []string{"CHECK", "VERDICT", "FOUND"}}
		for _, f := range findings {
			t.Rows = append(t.Rows, []string{f.Check, string(f.Verdict), f.Text})
		}
		t.Write(streams.Out, "")
	}
	if !ok {
		return cli.Status(cli.StatusError)
	}
	return nil
}

// logFindings says at start-up what is not as it should be.
func logFindings(log *telemetry.Logger, findings []finding) {
	for _, f := range findings {
		if f.Verdict != good {
			log.Warn(f.Text, "check", f.Check)
		}
	}
}

func loadFlows(paths []string) (flows []*flow.Flow, findings []finding) {
	for _, path := range paths {
		b, err := flowfile.Load(path)
		if err != nil {
			findings = append(findings, finding{"flow", bad, fmt.Sprintf("%s: see `enqueue check %s`", path, path)})
			continue
		}
		flows = append(flows, b.Flow())
	}
	return flows, findings
}

// margin is what a stopping worker needs besides drain: to stop pulling, to flush, to exit.
const margin = 5 * time.Second

// checkTimes holds drain against the platform's grace period and the flows' longest budget.
func checkTimes(file *config.File, grace time.Duration, flows []*flow.Flow) []finding {
	var findings []finding
	drain := file.Drain.Std()
	if grace > 0 {
		f := finding{"shutdown", good, fmt.Sprintf("drain %s fits the grace period of %s", drain, grace)}
		if drain+margin > grace {
			f = finding{"shutdown", bad, fmt.Sprintf("drain %s and %s to end do not fit the grace period of %s: workers would be killed", drain, margin, grace)}
		}
		findings = append(findings, f)
	}
	for _, fl := range flows {
		for _, s := range fl.Steps {
			if s.Budget.Total > drain {
				findings = append(findings, finding{"shutdown", warning, fmt.Sprintf(
					"step %s of %s may take %s, longer than drain %s: a stopping worker gives it back", s.ID, fl.Name, s.Budget.Total, drain)})
			}
		}
	}
	return findings
}

// checkFlows says whether the configuration offers what the flows name.
func checkFlows(file *config.File, flows []*flow.Flow) []finding {
	if len(flows) == 0 {
		return nil
	}
	offer, err := file.Offer()
	if err != nil {
		return []finding{{"flow", bad, cli.Text(err)}}
	}
	var findings []finding
	for _, fl := range flows {
		f := finding{"flow", good, fmt.Sprintf("%s: %s, everything it names is there", fl.Name, cli.Count(len(fl.Steps), "step"))}
		if err := fl.Check(offer); err != nil {
			f = finding{"flow", bad, fl.Name + ": " + cli.Text(err)}
		}
		findings = append(findings, f)
	}
	return findings
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
