package provider_test

import (
	"encoding"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/provider"
)

func TestEnumerationsPrintAsOnTheDashboard(t *testing.T) {
	var kinds, reasons, capabilities []string
	for _, k := range provider.Kinds() {
		kinds = append(kinds, k.String())
	}
	for _, r := range provider.Reasons() {
		reasons = append(reasons, r.String())
	}
	for _, c := range provider.AllCapabilities() {
		capabilities = append(capabilities, c.String())
	}
	got := map[string]string{
		"kinds": strings.Join(kinds, " "), "reasons": strings.Join(reasons, " "), "capabilities": strings.Join(capabilities, " "),
		"no kind": provider.KindNone.String(), "no reason": provider.ReasonNone.String(), "no such kind": provider.Kind(99).String(),
	}
	want := map[string]string{
		"kinds": "network rate_limit auth invalid_request model_unavailable provider_error output_validation",
		"reasons": "context_length content_filter unsupported_param quota truncated refusal tool_calls not_json schema empty " +
			"timeout first_token_timeout idle_timeout aborted capability breaker_open",
		"capabilities": "json_schema json_mode tools vision streaming long_context",
		"no kind":      "none", "no reason": "none", "no such kind": "invalid",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// roundTrips checks that what v writes reads back as v, and that other texts are refused without being quoted.
func roundTrips[T interface {
	comparable
	encoding.TextMarshaler
}](t *testing.T, v T) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(data, &back); err != nil || back != v {
		t.Errorf("%s read back as %v, %v", data, back, err)
	}
	if err := json.Unmarshal([]byte(`"Canary Text"`), &back); err == nil || strings.Contains(err.Error(), "Canary") {
		t.Errorf("%T took or quoted nonsense: %v", v, err)
	}
}

func TestEnumerationsReadWhatTheyWrite(t *testing.T) {
	for _, k := range append(provider.Kinds(), provider.KindNone) {
		roundTrips(t, k)
	}
	for _, r := range append(provider.Reasons(), provider.ReasonNone) {
		roundTrips(t, r)
	}
	for _, c := range provider.AllCapabilities() {
		roundTrips(t, c)
	}
	for set := range provider.CapabilitiesOf(provider.AllCapabilities()...) + 1 {
		roundTrips(t, set)
		if back := provider.CapabilitiesOf(set.List()...); back != set {
			t.Errorf("%v listed and joined is %v", set, back)
		}
	}
	roundTrips(t, provider.MustName("primary-2"))
	roundTrips(t, provider.Name{})
	roundTrips(t, provider.ModelProviderSimulated)
	roundTrips(t, provider.ModelProvider{})
}

func TestWhatIsNoMemberIsNotWritten(t *testing.T) {
	for _, v := range []encoding.TextMarshaler{provider.Kind(99), provider.Reason(99), provider.Capability(99)} {
		if text, err := v.MarshalText(); err == nil {
			t.Errorf("%T wrote %q", v, text)
		}
	}
	if _, err := provider.ParseCapability("none"); err == nil {
		t.Error("none was taken for a capability")
	}
}

func TestNamesAreChecked(t *testing.T) {
	name, custom := regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`), regexp.MustCompile(`^[a-z0-9._-]{1,63}$`)
	long := strings.Repeat("a", 63)
	for _, s := range []string{
		"", "a", "0", "-a", "a-", "primary", "Primary", "a_b", "a.b", "a b", "é", "a\n", long, long + "a",
		"openai", "anthropic", "gcp.gemini", "gcp.vertex_ai", "azure.ai.openai", "aws.bedrock", "groq", "mistral_ai", "deepseek", "x_ai",
	} {
		n, err := provider.ParseName(s)
		if want := name.MatchString(s); want != (err == nil) || want && n.String() != s {
			t.Errorf("ParseName(%q) = %q, %v", s, n, err)
		}
		m, err := provider.ParseModelProvider(s)
		if want := custom.MatchString(s); want != (err == nil) || want && m.String() != s {
			t.Errorf("ParseModelProvider(%q) = %q, %v", s, m, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("MustName took an impossible name")
		}
	}()
	provider.MustName("no name")
}

func TestCapabilitiesAreSets(t *testing.T) {
	all := provider.CapabilitiesOf(provider.AllCapabilities()...)
	for a := range all + 1 {
		for b := range all + 1 {
			lacks := a.Lacking(b)
			if a.Has(b) != (lacks == 0) || !a.Union(lacks).Has(b) || a.Union(b) != b.Union(a) || !a.Union(b).Has(a) {
				t.Fatalf("%v and %v: lacking %v", a, b, lacks)
			}
		}
	}
	if got := provider.CapabilitiesOf(provider.Streaming, provider.JSONSchema).String(); got != "json_schema,streaming" {
		t.Error(got)
	}
	if got := provider.CapabilitiesOf(0); got != 0 || got.List() != nil {
		t.Error(got)
	}
}
