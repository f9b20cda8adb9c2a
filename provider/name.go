package provider

import (
	"errors"
	"strings"
)

// Name is a provider's name in the configuration: [a-z0-9][a-z0-9-]{0,62}. The zero value names nobody.
type Name struct{ s string }

// ParseName checks s. Its error never quotes s.
func ParseName(s string) (Name, error) {
	if !fits(s, "-") || s[0] == '-' {
		return Name{}, errors.New("provider: a name is a letter or digit and up to 62 more of a-z, 0-9 and -")
	}
	return Name{s}, nil
}

// MustName is ParseName for names in Go source; it panics when s is none.
func MustName(s string) Name {
	n, err := ParseName(s)
	if err != nil {
		panic(err)
	}
	return n
}

// String returns the name; empty for the zero value.
func (n Name) String() string { return n.s }

// IsZero reports whether n names nobody.
func (n Name) IsZero() bool { return n.s == "" }

// MarshalText returns the name.
func (n Name) MarshalText() ([]byte, error) { return []byte(n.s), nil }

// UnmarshalText reads a name; empty text is the zero value.
func (n *Name) UnmarshalText(text []byte) (err error) {
	*n = Name{}
	if len(text) > 0 {
		*n, err = ParseName(string(text))
	}
	return err
}

// ModelProvider is OpenTelemetry's gen_ai.provider.name of a provider, such as openai, anthropic, gcp.gemini,
// gcp.vertex_ai, azure.ai.openai, aws.bedrock, groq, mistral_ai, deepseek or x_ai. One that OpenTelemetry does not
// list may be named freely: [a-z0-9._-]{1,63}. Simulations say ModelProviderSimulated. The zero value is unknown.
type ModelProvider struct{ s string }

// ModelProviderSimulated is what a simulation says wherever its provider shows, so that nobody takes it for a model.
var ModelProviderSimulated = ModelProvider{"simulated"}

// ParseModelProvider checks s. Its error never quotes s.
func ParseModelProvider(s string) (ModelProvider, error) {
	if !fits(s, "._-") {
		return ModelProvider{}, errors.New("provider: a model provider is 1 to 63 of a-z, 0-9, dot, underscore and hyphen")
	}
	return ModelProvider{s}, nil
}

// String returns the name; empty for the zero value.
func (m ModelProvider) String() string { return m.s }

// IsZero reports whether m is unknown.
func (m ModelProvider) IsZero() bool { return m.s == "" }

// MarshalText returns the name.
func (m ModelProvider) MarshalText() ([]byte, error) { return []byte(m.s), nil }

// UnmarshalText reads a name; empty text is the zero value.
func (m *ModelProvider) UnmarshalText(text []byte) (err error) {
	*m = ModelProvider{}
	if len(text) > 0 {
		*m, err = ParseModelProvider(string(text))
	}
	return err
}

// fits reports whether s is 1 to 63 lower-case letters, digits and bytes of more.
func fits(s, more string) bool {
	if len(s) < 1 || len(s) > 63 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case strings.IndexByte(more, c) >= 0:
		default:
			return false
		}
	}
	return true
}
