package provider

import (
	"errors"
	"slices"
)

// Kind is what a provider did wrong. The zero value is none.
type Kind uint8

// The seven error kinds.
const (
	KindNone             Kind = iota
	KindNetwork               // the call broke on its way, or a timer ended it
	KindRateLimit             // the provider asks for fewer calls
	KindAuth                  // the key is wrong or may not do this
	KindInvalidRequest        // the request is at fault; nobody else would take it either
	KindModelUnavailable      // the model is not there, or not for us
	KindProviderError         // the provider failed
	KindOutputValidation      // the model answered, but not with what was asked for
)

var kindNames = []string{
	"none", "network", "rate_limit", "auth", "invalid_request", "model_unavailable", "provider_error", "output_validation",
}

// Kinds returns the seven kinds in order, without KindNone.
func Kinds() []Kind { return values[Kind](kindNames) }

// ParseKind reads what String prints, "none" included.
func ParseKind(s string) (Kind, error) { return parseEnum[Kind]("error kind", kindNames, s) }

// String returns the kind as dashboards show it, such as rate_limit; "none" for the zero value.
func (k Kind) String() string { return enumName(kindNames, k) }

// MarshalText returns what String prints, and an error for a value that is no kind.
func (k Kind) MarshalText() ([]byte, error) { return marshalEnum("error kind", kindNames, k) }

// UnmarshalText reads what MarshalText wrote.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}

// Reason narrows a kind down where operators act on the difference. The zero value is none.
type Reason uint8

// The reasons.
const (
	ReasonNone Reason = iota
	ReasonContextLength
	ReasonContentFilter
	ReasonUnsupportedParam
	ReasonQuota // money or a daily allowance is used up: waiting a minute does not help
	ReasonTruncated
	ReasonRefusal
	ReasonToolCalls
	ReasonNotJSON
	ReasonSchema
	ReasonEmpty
	ReasonTimeout
	ReasonFirstTokenTimeout
	ReasonIdleTimeout
	ReasonAborted
	ReasonCapability // nobody in the chain can do what the step requires
	ReasonBreakerOpen
)

var reasonNames = []string{
	"none", "context_length", "content_filter", "unsupported_param", "quota", "truncated", "refusal", "tool_calls", "not_json",
	"schema", "empty", "timeout", "first_token_timeout", "idle_timeout", "aborted", "capability", "breaker_open",
}

// Reasons returns every reason in order, without ReasonNone.
func Reasons() []Reason { return values[Reason](reasonNames) }

// ParseReason reads what String prints, "none" included.
func ParseReason(s string) (Reason, error) { return parseEnum[Reason]("reason", reasonNames, s) }

// String returns the reason as dashboards show it, such as context_length; "none" for the zero value.
func (r Reason) String() string { return enumName(reasonNames, r) }

// MarshalText returns what String prints, and an error for a value that is no reason.
func (r Reason) MarshalText() ([]byte, error) { return marshalEnum("reason", reasonNames, r) }

// UnmarshalText reads what MarshalText wrote.
func (r *Reason) UnmarshalText(text []byte) (err error) {
	*r, err = ParseReason(string(text))
	return err
}

// The enumerations of this package count from 0, and names[0] is that of the zero value.

func values[T ~uint8](names []string) []T {
	all := make([]T, 0, len(names)-1)
	for i := 1; i < len(names); i++ {
		all = append(all, T(i))
	}
	return all
}

func enumName[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "invalid"
}

func parseEnum[T ~uint8](what string, names []string, s string) (T, error) {
	if i := slices.Index(names, s); i >= 0 {
		return T(i), nil
	}
	return 0, errors.New("provider: unknown " + what)
}

func marshalEnum[T ~uint8](what string, names []string, v T) ([]byte, error) {
	if int(v) < len(names) {
		return []byte(names[v]), nil
	}
	return nil, errors.New("provider: invalid " + what)
}
