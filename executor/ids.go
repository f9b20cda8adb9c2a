package executor

import (
	"encoding/hex"
	"errors"
)

// The longest identifiers, in bytes.
const (
	maxStepID       = 63
	maxModelVersion = 128
)

// Errors of the parsers of identifiers. None of them quotes what was parsed, which may be content.
var (
	ErrStepID       = errors.New("executor: a step id is 1 to 63 of a-z, 0-9 and -, and does not begin with -")
	ErrModelVersion = errors.New("executor: a model version is 1 to 128 of A-Z, a-z, 0-9 and ._:/@+-, and begins with a letter or digit")
	ErrPromptSHA    = errors.New("executor: a prompt SHA is 64 hexadecimal digits")
)

// StepID names a step within its flow: [a-z0-9][a-z0-9-]{0,62}. The zero value names none; it prints
// and encodes as the empty text, which decodes to it.
type StepID struct{ s string }

// ParseStepID returns the id that s spells, or [ErrStepID].
func ParseStepID(s string) (StepID, error) {
	if len(s) == 0 || len(s) > maxStepID || s[0] == '-' {
		return StepID{}, ErrStepID
	}
	for i := range len(s) {
		if c := s[i]; !isLower(c) && !isDigit(c) && c != '-' {
			return StepID{}, ErrStepID
		}
	}
	return StepID{s}, nil
}

// MustStepID is [ParseStepID] for ids that stand in a program's text. It panics on any other.
func MustStepID(s string) StepID {
	id, err := ParseStepID(s)
	if err != nil {
		panic(err)
	}
	return id
}

// String returns the id as it was parsed; empty for the zero value.
func (id StepID) String() string { return id.s }

// IsZero reports whether id names no step.
func (id StepID) IsZero() bool { return id.s == "" }

// MarshalText returns the id as text. It never fails.
func (id StepID) MarshalText() ([]byte, error) { return []byte(id.s), nil }

// UnmarshalText accepts what [ParseStepID] accepts, and the empty text for the zero value.
func (id *StepID) UnmarshalText(text []byte) (err error) {
	*id = StepID{}
	if len(text) > 0 {
		*id, err = ParseStepID(string(text))
	}
	return err
}

// ModelVersion is the model that a provider says it answered with:
// [A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}. The zero value is unknown; it prints and encodes as the empty
// text, which decodes to it.
type ModelVersion struct{ s string }

// ParseModelVersion returns the version that s spells, or [ErrModelVersion].
func ParseModelVersion(s string) (ModelVersion, error) {
	if len(s) == 0 || len(s) > maxModelVersion || !isAlphanumeric(s[0]) {
		return ModelVersion{}, ErrModelVersion
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case isAlphanumeric(c):
		case c == '.', c == '_', c == ':', c == '/', c == '@', c == '+', c == '-':
		default:
			return ModelVersion{}, ErrModelVersion
		}
	}
	return ModelVersion{s}, nil
}

// ModelVersionOf is [ParseModelVersion] for what a provider sent: whatever does not fit is unknown,
// because a provider's text that is no version might be anything.
func ModelVersionOf(s string) ModelVersion {
	m, _ := ParseModelVersion(s)
	return m
}

// String returns the version as it was parsed; empty for the zero value.
func (m ModelVersion) String() string { return m.s }

// IsZero reports whether the version is unknown.
func (m ModelVersion) IsZero() bool { return m.s == "" }

// MarshalText returns the version as text. It never fails.
func (m ModelVersion) MarshalText() ([]byte, error) { return []byte(m.s), nil }

// UnmarshalText accepts what [ParseModelVersion] accepts, and the empty text for the zero value.
func (m *ModelVersion) UnmarshalText(text []byte) (err error) {
	*m = ModelVersion{}
	if len(text) > 0 {
		*m, err = ParseModelVersion(string(text))
	}
	return err
}

// PromptSHA is the SHA-256 of the bundle that a prompt comes from. The zero value is none; it prints
// and encodes as the empty text, which decodes to it.
type PromptSHA [32]byte

// ParsePromptSHA returns the sum that 64 hexadecimal digits spell, or [ErrPromptSHA].
func ParsePromptSHA(s string) (PromptSHA, error) {
	var p PromptSHA
	if len(s) != hex.EncodedLen(len(p)) {
		return PromptSHA{}, ErrPromptSHA
	}
	if _, err := hex.Decode(p[:], []byte(s)); err != nil {
		return PromptSHA{}, ErrPromptSHA
	}
	return p, nil
}

// String returns 64 lower-case hexadecimal digits; empty for the zero value.
func (p PromptSHA) String() string {
	if p.IsZero() {
		return ""
	}
	return hex.EncodeToString(p[:])
}

// IsZero reports whether there is no sum.
func (p PromptSHA) IsZero() bool { return p == PromptSHA{} }

// MarshalText returns the sum as [PromptSHA.String] does. It never fails.
func (p PromptSHA) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText accepts what [ParsePromptSHA] accepts, and the empty text for the zero value.
func (p *PromptSHA) UnmarshalText(text []byte) (err error) {
	*p = PromptSHA{}
	if len(text) > 0 {
		*p, err = ParsePromptSHA(string(text))
	}
	return err
}

func isLower(c byte) bool        { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool        { return '0' <= c && c <= '9' }
func isAlphanumeric(c byte) bool { return isLower(c) || isDigit(c) || 'A' <= c && c <= 'Z' }
