package demo

import (
	"time"

	"fourfold/executor"
	"fourfold/provider"
	"fourfold/provider/simulated"
)

// fitting are answers made from what was asked, so that the flow has something to work on.
var fitting = map[string]string{
	"classify-tables": `{"tables":[{{range $i, $t := .Doc}}{{if $i}},{{end}}{"id":{{json $t.id}},"kind":{{if eq $t.caption "Contents"}}"index"{{else}}"content"{{end}}}{{end}}]}`,
	"map-blocks":      `{"blocks":[{{range $i, $b := .Doc}}{{if $i}},{{end}}{"id":{{json $b.id}},"role":{{if $i}}"body"{{else}}"heading"{{end}}}{{end}}]}`,
	"summarise":       `{"summary":"simulated summary: a document of {{len .Doc}} known parts"}`,
}

// A trouble is what one document meets at one step. Calls are counted for each provider; the last one goes on for ever.
type trouble struct {
	document string
	step     string
	story    string
	primary  []simulated.Behaviour // nil: answers
	backup   []simulated.Behaviour // nil: answers
}

var (
	limited   = simulated.Behaviour{Do: simulated.RateLimit, RetryAfter: new(300 * time.Millisecond)}
	down      = simulated.Behaviour{Do: simulated.Status, Status: 503}
	hang      = simulated.Behaviour{Do: simulated.Hang}
	reset     = simulated.Behaviour{Do: simulated.Reset}
	prose     = simulated.Behaviour{Do: simulated.Malformed}
	misfit    = simulated.Behaviour{Do: simulated.BreakSchema}
	truncated = simulated.Behaviour{Do: simulated.Truncated}
	answers   = simulated.Behaviour{}
)

func calls(b ...simulated.Behaviour) []simulated.Behaviour { return b }

// troubles are the faults of a day, one a document; documents that are not named meet none.
var troubles = []trouble{
	{"contract-114", "classify-tables", "rate limit: backup answers", calls(limited), nil},
	{"order-5530", "classify-tables", "rate limit at both, once", calls(limited, answers), calls(limited)},
	{"report-q1", "classify-tables", "outage of both: 503", calls(down), calls(down)},
	{"quote-310", "map-blocks", "hangs: the backup answers", calls(hang), nil},
	{"claim-71", "classify-tables", "both hang: time runs out", calls(hang), calls(hang)},
	{"manual-c2", "map-blocks", "connection reset, once", calls(reset, answers), nil},
	{"payroll-03", "summarise", "prose, not JSON, once", calls(prose, answers), nil},
	{"tender-9", "map-blocks", "prose at an optional step", calls(prose), nil},
	{"audit-b", "classify-tables", "JSON breaks the schema", calls(misfit), nil},
	{"budget-27", "summarise", "cut at the token limit", calls(truncated), nil},
}

// tell puts each document's story beside it.
func tell(docs []document) []document {
	for i := range docs {
		for _, t := range troubles {
			if t.document == docs[i].id {
				docs[i].story = t.story
			}
		}
	}
	return docs
}

// simulatedChain is a primary and a backup that do what the troubles say, guarded as real ones are.
func simulatedChain(o provider.Observer) *provider.Chain {
	primary := func(t trouble) []simulated.Behaviour { return t.primary }
	backup := func(t trouble) []simulated.Behaviour { return t.backup }
	return provider.NewChain(
		simulatedClient(o, "primary", "simulated-large", 350*time.Millisecond, primary),
		simulatedClient(o, "backup", "simulated-small", 250*time.Millisecond, backup),
	).With(provider.ObserveChain(o))
}

func simulatedClient(o provider.Observer, name, model string, latency time.Duration, of func(trouble) []simulated.Behaviour) provider.Client {
	script := simulated.Script{Latency: latency}
	for _, t := range troubles {
		if does := of(t); does != nil {
			rule := simulated.Rule{Step: t.step, Contains: "Document " + t.document + ":"}
			for _, b := range does {
				if b.Do == simulated.Answer || b.Do == simulated.Truncated {
					b.Template = fitting[t.step]
				}
				rule.Calls = append(rule.Calls, b)
			}
			script.Rules = append(script.Rules, rule)
		}
	}
	for step, template := range fitting {
		script.Rules = append(script.Rules, simulated.Rule{Step: step, Calls: calls(simulated.Behaviour{Template: template})})
	}
	can := provider.CapabilitiesOf(provider.JSONSchema, provider.JSONMode, provider.Streaming)
	c, err := simulated.New(simulated.Config{Name: provider.MustName(name), Capabilities: can, Model: model, Script: script})
	if err != nil {
		panic(err) // the script above is wrong: a test runs it
	}
	return provider.Guard(c, provider.GuardConfig{
		ModelProvider: provider.ModelProviderSimulated,
		Model:         executor.ModelVersionOf(model),
		Timeouts:      provider.Timeouts{Total: 700 * time.Millisecond},
		Observer:      o,
	})
}
