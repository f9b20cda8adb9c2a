// Package simulated is a provider without a model: what it does is written in a [Script]. The demo, examples, load tests and the
// tests of programs run on it. It costs nothing, needs no key, and waits no longer than it is told to.
//
// Without a script every call is answered at once, with a value that fits the request's JSON Schema. A script says otherwise for
// some steps and inputs:
//
//	latency: 40ms
//	rules:
//	  - step: classify-tables            # the first rule that fits a call counts
//	    contains: "invoice 17"           # in the prompt
//	    calls:                           # one after the other for the same input; the last one goes on for ever
//	      - {do: rate_limit, retry_after: 1s}
//	      - {do: answer, latency: 200ms}
//	  - step: map-blocks
//	    where: {document.id: doc-09}     # in the JSON document that the prompt holds
//	    calls: [{do: status, status: 503}]
//	  - step: summarise
//	    calls: [{template: 'In short: {{len .Doc.blocks}} blocks.'}]
//
// A simulation is honest about being one: its model is simulated-1, or another name that begins so, its model provider is
// simulated, and the words it makes up begin with "simulated". It is deterministic: the same request has the same answer. All that
// it remembers is how often it was asked the same thing.
package simulated
