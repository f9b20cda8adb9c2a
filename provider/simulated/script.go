package simulated

import (
	"errors"
	"fmt"
	"text/template"
	"time"

	"github.com/goccy/go-yaml"

	"fourfold/executor"
)

// Script says what a simulation does. The zero value answers every call at once.
type Script struct {
	// Latency is how long a call takes of which no rule says otherwise.
	Latency time.Duration `yaml:"latency"`
	// Pace is the time between two pieces of a streamed answer.
	Pace time.Duration `yaml:"pace"`
	// Rules are tried in order; the first that fits a call counts. A call that none fits is answered.
	Rules []Rule `yaml:"rules"`
}

// Rule says what happens to some calls. What it leaves empty, every call fits.
type Rule struct {
	// Step is the step that asks.
	Step string `yaml:"step"`
	// Contains is a text within the prompt.
	Contains string `yaml:"contains"`
	// Where names fields of a JSON document within the prompt by their path, such as document.id or tables.0.kind, and the
	// values that they must have.
	Where map[string]any `yaml:"where"`
	// Calls is what happens to the first, second, ... call of the same step with the same input. The last one goes on for
	// ever. Empty: they are answered.
	Calls []Behaviour `yaml:"calls"`
}

// Behaviour is what happens to one call. The zero value answers with a value that fits the request's schema, or with a sentence
// when it has none.
type Behaviour struct {
	Do Action `yaml:"do"`
	// Latency is how long it takes until the end of the call, or until its first token; nil: the script's.
	Latency *time.Duration `yaml:"latency"`
	// RetryAfter goes with rate_limit and status; nil: the provider does not say.
	RetryAfter *time.Duration `yaml:"retry_after"`
	// Status goes with status: 400 to 599; zero: 503.
	Status int `yaml:"status"`
	// After is how many pieces of a streamed answer come before hang and reset; zero: none. It means nothing to a call that
	// is not streamed.
	After int `yaml:"after"`
	// At most one of JSON, Text and Template says what the answer is. JSON is any value. Template is a text/template that sees
	// .Doc (the largest JSON document in the prompt; nil: none), .Docs (all, in order), .Step and .Call (from 1), and has
	// the function json.
	JSON     any     `yaml:"json"`
	Text     *string `yaml:"text"`
	Template string  `yaml:"template"`
}

// Action is a kind of behaviour. The zero value answers.
type Action uint8

// The actions.
const (
	Answer      Action = iota
	RateLimit          // 429
	Status             // an HTTP status that is no success
	Hang               // nothing, until the caller gives up
	Reset              // the connection breaks
	Malformed          // prose, whatever was asked for
	Truncated          // half of the answer, cut at the limit of output tokens
	BreakSchema        // a JSON value that does not fit the request's schema
	Refuse             // the model declines
	Empty              // an answer without text
)

var actionNames = []string{
	"answer", "rate_limit", "status", "hang", "reset", "malformed", "truncated", "break_schema", "refuse", "empty",
}

// String returns the action as scripts write it, such as rate_limit.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "invalid"
}

// ParseAction reads what String prints.
func ParseAction(s string) (Action, error) {
	for i, name := range actionNames {
		if name == s {
			return Action(i), nil
		}
	}
	return 0, errors.New("simulated: unknown action")
}

// MarshalText returns what String prints.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (a *Action) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAction(string(text))
	return err
}

// Parse reads a script in YAML and checks it. Unknown keys are errors. The error shows the line where it can.
func Parse(data []byte) (Script, error) {
	var s Script
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		return Script{}, fmt.Errorf("simulated: %w", err)
	}
	return s, s.Check()
}

// Check reports the first thing that is wrong with the script.
func (s Script) Check() error {
	for i, r := range s.Rules {
		if r.Step != "" {
			if _, err := executor.ParseStepID(r.Step); err != nil {
				return fmt.Errorf("simulated: rule %d: %w", i+1, err)
			}
		}
		for j, b := range r.Calls {
			if err := b.check(); err != nil {
				return fmt.Errorf("simulated: rule %d, call %d: %w", i+1, j+1, err)
			}
		}
	}
	return nil
}

func (b Behaviour) check() error {
	said := 0
	for _, is := range []bool{b.JSON != nil, b.Text != nil, b.Template != ""} {
		if is {
			said++
		}
	}
	switch {
	case int(b.Do) >= len(actionNames):
		return errors.New("unknown action")
	case said > 1:
		return errors.New("more than one of json, text and template")
	case said == 1 && b.Do != Answer && b.Do != Truncated && b.Do != Hang && b.Do != Reset:
		return fmt.Errorf("%s gives no answer of its own", b.Do)
	case b.Status != 0 && (b.Do != Status || b.Status < 400 || b.Status > 599):
		return errors.New("status is 400 to 599 and goes with do: status")
	case b.RetryAfter != nil && b.Do != Status && b.Do != RateLimit:
		return errors.New("retry_after goes with do: rate_limit and do: status")
	case b.After != 0 && (b.After < 0 || b.Do != Hang && b.Do != Reset):
		return errors.New("after is a number of pieces and goes with do: hang and do: reset")
	}
	_, err := b.compile()
	return err
}

// compile reads the template; nil: there is none.
func (b Behaviour) compile() (*template.Template, error) {
	if b.Template == "" {
		return nil, nil
	}
	return template.New("answer").Option("missingkey=error").Funcs(template.FuncMap{"json": toJSON}).Parse(b.Template)
}
