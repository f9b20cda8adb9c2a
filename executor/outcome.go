package executor

import (
	"errors"
	"strconv"
)

// Outcome is how a step ended. The zero value is no outcome at all.
// The numeric order is the order of joins: ABSTAINED < OK < DEGRADED < FAILED.
type Outcome uint8

// The four outcomes, in the order of joins.
const (
	OutcomeNone Outcome = iota
	OutcomeAbstained
	OutcomeOK
	OutcomeDegraded
	OutcomeFailed
)

// FailureClass is why the last attempt of a step failed. The zero value is none.
type FailureClass uint8

// The five failure classes.
const (
	ClassNone        FailureClass = iota
	ClassTimeout                  // no answer in time
	ClassParse                    // an answer that could not be read; also every unknown error and panic
	ClassSchema                   // an answer that was read and breaks the step's schema
	ClassUpstream5xx              // the provider or the way to it is broken
	ClassUpstream4xx              // the provider refuses the request
)

// Errors of the enumerations' codecs. None of them quotes what was parsed.
var (
	ErrOutcome      = errors.New("executor: not an outcome")
	ErrFailureClass = errors.New("executor: not a failure class")
)

var (
	outcomeNames = [...]string{"none", "ABSTAINED", "OK", "DEGRADED", "FAILED"}
	classNames   = [...]string{"none", "timeout", "parse", "schema", "upstream-5xx", "upstream-4xx"}
)

// Outcomes returns the four outcomes in the order of joins.
func Outcomes() []Outcome {
	return []Outcome{OutcomeAbstained, OutcomeOK, OutcomeDegraded, OutcomeFailed}
}

// ParseOutcome is the inverse of [Outcome.String] ("none" included), or [ErrOutcome].
func ParseOutcome(s string) (Outcome, error) {
	for i, name := range outcomeNames {
		if s == name {
			return Outcome(i), nil
		}
	}
	return OutcomeNone, ErrOutcome
}

// String returns the outcome as dashboards show it: OK, DEGRADED, ABSTAINED, FAILED; "none" for the
// zero value.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "Outcome(" + strconv.Itoa(int(o)) + ")"
}

// IsZero reports whether o is no outcome.
func (o Outcome) IsZero() bool { return o == OutcomeNone }

// MarshalText returns [Outcome.String], or [ErrOutcome] for a number that is none of the constants.
func (o Outcome) MarshalText() ([]byte, error) {
	if int(o) >= len(outcomeNames) {
		return nil, ErrOutcome
	}
	return []byte(outcomeNames[o]), nil
}

// UnmarshalText is [ParseOutcome].
func (o *Outcome) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOutcome(string(text))
	return err
}

// Worst joins outcomes: the greatest in the order ABSTAINED < OK < DEGRADED < FAILED. ABSTAINED is the
// identity, so Worst() is ABSTAINED: who abstained contributed nothing, and nothing is wrong.
// OutcomeNone is ignored; a number that is no outcome counts as FAILED, never as something clean.
func Worst(os ...Outcome) Outcome {
	worst := OutcomeAbstained
	for _, o := range os {
		worst = max(worst, min(o, OutcomeFailed))
	}
	return worst
}

// FailureClasses returns the five failure classes.
func FailureClasses() []FailureClass {
	return []FailureClass{ClassTimeout, ClassParse, ClassSchema, ClassUpstream5xx, ClassUpstream4xx}
}

// ParseFailureClass is the inverse of [FailureClass.String] ("none" included), or [ErrFailureClass].
func ParseFailureClass(s string) (FailureClass, error) {
	for i, name := range classNames {
		if s == name {
			return FailureClass(i), nil
		}
	}
	return ClassNone, ErrFailureClass
}

// String returns the class as dashboards show it: timeout, parse, schema, upstream-5xx, upstream-4xx;
// "none" for the zero value.
func (c FailureClass) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "FailureClass(" + strconv.Itoa(int(c)) + ")"
}

// IsZero reports whether c is no class.
func (c FailureClass) IsZero() bool { return c == ClassNone }

// MarshalText returns [FailureClass.String], or [ErrFailureClass] for a number that is none of the constants.
func (c FailureClass) MarshalText() ([]byte, error) {
	if int(c) >= len(classNames) {
		return nil, ErrFailureClass
	}
	return []byte(classNames[c]), nil
}

// UnmarshalText is [ParseFailureClass].
func (c *FailureClass) UnmarshalText(text []byte) (err error) {
	*c, err = ParseFailureClass(string(text))
	return err
}

// retryable reports whether another attempt may follow a failure of class c when nobody overrides it:
// what was transient or a matter of luck may be tried again, what would only be said again may not.
func (c FailureClass) retryable() bool {
	return c == ClassTimeout || c == ClassParse || c == ClassUpstream5xx
}

// known returns c, or parse for what is no class: an unknown failure is parse.
func (c FailureClass) known() FailureClass {
	if c == ClassNone || int(c) >= len(classNames) {
		return ClassParse
	}
	return c
}
