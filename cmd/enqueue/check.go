package main

import (
	"errors"
	"fmt"
	"os"

	"fourfold/cmd/internal/cli"
	"fourfold/cmd/internal/config"
	"fourfold/cmd/internal/flowfile"
	"fourfold/flow"
)

type checkCommand struct {
	Flow string `arg:"" placeholder:"FLOW.yaml" help:"The flow file."`
}

// Help is what --help adds.
func (checkCommand) Help() string {
	return "Without --config only the flow and its files are looked at. With it the flow is also held against that worker: are its chains there, have their providers the capabilities, does the worker know the handlers. Redis is not needed. A problem is printed as file:line:column: message, and the exit status is then 1."
}

type checkReport struct {
	Flow     string         `json:"flow,omitempty"`
	SHA      string         `json:"bundle_sha,omitempty"`
	Steps    []string       `json:"steps,omitempty"`
	Problems []checkProblem `json:"problems"`
}

type checkProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

func (c *checkCommand) Run(g *globals, streams cli.Streams) error {
	report := checkReport{Problems: []checkProblem{}}
	bundle, err := flowfile.Load(c.Flow)
	switch ps, problems := errors.AsType[flow.Problems](err); {
	case problems:
		for _, p := range ps {
			report.Problems = append(report.Problems, checkProblem{p.File, p.Line, p.Column, p.Message})
		}
	case err != nil:
		return err
	default:
		report.Flow, report.SHA = bundle.Flow().Name, bundle.SHA().String()
		for _, s := range bundle.Flow().Steps {
			report.Steps = append(report.Steps, s.ID.String())
		}
		if err := against(g.Config, bundle.Flow()); err != nil {
			report.Problems = append(report.Problems, checkProblem{File: c.Flow, Message: cli.Text(err)})
		}
	}
	if g.JSON {
		if err := printJSON(streams, report); err != nil {
			return err
		}
	} else {
		report.show(streams)
	}
	if len(report.Problems) > 0 {
		return cli.Status(cli.StatusError)
	}
	return nil
}

// bundle loads a flow that is to be submitted. When the configuration names chains, the flow is held against them: what no
// worker can do is found here, and not by a run.
func (g *globals) bundle(path string) (*flow.Bundle, error) {
	b, err := flowfile.Load(path)
	if err != nil {
		return nil, err
	}
	if g.Config == "" {
		return b, nil
	}
	file, err := config.Load(g.Config)
	if err != nil {
		return nil, err
	}
	if len(file.Providers) == 0 { // it only says where Redis is
		return b, nil
	}
	return b, against(g.Config, b.Flow())
}

// against holds the flow against what a worker with this configuration offers.
func against(path string, f *flow.Flow) error {
	if path == "" {
		return nil
	}
	file, err := config.Load(path)
	if err != nil {
		return err
	}
	if err := file.Finish(config.Overrides{}, os.LookupEnv); err != nil {
		return err
	}
	offer, err := file.Offer()
	if err != nil {
		return err
	}
	return f.Check(offer)
}

func (r checkReport) show(s cli.Streams) {
	if len(r.Problems) == 0 {
		fmt.Fprintf(s.Out, "flow %s is good: %s, bundle %.12s\n", r.Flow, cli.Count(len(r.Steps), "step"), r.SHA)
		return
	}
	for _, p := range r.Problems {
		where := p.File
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
		}
		fmt.Fprintf(s.Err, "%s: %s\n", where, p.Message)
	}
}
