package main

import (
	"strings"
	"testing"

	"fourfold/cmd/internal/config"
)

func TestACheckWarnsOfAProviderThatMayHoldUpTheNext(t *testing.T) {
	file := &config.File{
		Providers: map[string]config.Provider{"first": {Kind: "simulated"}, "last": {Kind: "simulated"}},
		Chains:    map[string]config.Chain{"default": {Providers: []string{"first", "last"}}, "single": {Providers: []string{"last"}}},
	}
	var warnings []string
	for _, f := range checkProviders(file, func(string) (string, bool) { return "", false }) {
		if f.Verdict == warning {
			warnings = append(warnings, f.Text)
		}
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "default: first has no timeout") {
		t.Errorf("warnings: %q", warnings)
	}
}
