package flow

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/provider"
)

// able is a provider that can do some things and is never called.
type able struct {
	provider.Client
	can provider.Capabilities
}

func (a able) Name() provider.Name                 { return provider.MustName("able") }
func (a able) Capabilities() provider.Capabilities { return a.can }

func TestCheckNamesAllThatTheConfigurationLacks(t *testing.T) {
	f := bundleOf(t, `  - id: fine
    prompt: p.tmpl
    requires: [json_schema]
  - id: split
    prompt: p.tmpl
    requires: [json_schema, vision]
  - id: elsewhere
    prompt: p.tmpl
    chain: defaults
  - id: handled
    handler: assemble
  - id: unhandled
    handler: asemble
`, map[string]string{"p.tmpl": "Hello."}).Flow()
	chain := provider.NewChain(able{can: provider.CapabilitiesOf(provider.JSONSchema)}, able{can: provider.CapabilitiesOf(provider.Vision)})
	err := f.Check(Offer{
		Chains:   map[string]*provider.Chain{"default": chain, "cheap": chain},
		Handlers: map[string]bool{"assemble": true, "off": false},
	})
	want := `flow f cannot run with this configuration: ` +
		`step split requires json_schema, vision, which no provider of the chain "default" has all of; ` +
		`step elsewhere needs the chain "defaults"; the configuration has cheap, default; did you mean "default"?; ` +
		`step unhandled needs the handler "asemble"; the program registers assemble; did you mean "assemble"?`
	if err == nil {
		t.Fatal("got no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	all := provider.NewChain(able{can: ^provider.Capabilities(0)})
	err = f.Check(Offer{
		Chains:   map[string]*provider.Chain{"default": all, "defaults": all},
		Handlers: map[string]bool{"assemble": true, "asemble": true},
	})
	if err != nil {
		t.Error(err)
	}
	if err := f.Check(Offer{}); err == nil {
		t.Error("an empty offer suffices")
	}
}
