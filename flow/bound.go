package flow

import (
	"encoding/json"
	"errors"
	"reflect"
	"sync"

	"fourfold/content"
	"fourfold/executor"
)

// code is what a step is made of, compiled. Any part may be missing.
type code struct {
	file                                     string // the flow file
	system, prompt                           *prompt
	output                                   *schema
	abstainOn, abstainTo, degradeTo, forEach *expression
}

var (
	errMissingParent = errors.New("is required and missing")
	errMissingItem   = errors.New("has no item: it is evaluated for each item of for_each")
	errNotThere      = errors.New("is not a key of this step")
	errNotBool       = errors.New("is not true or false")
	errNotAList      = errors.New("is not a list")
	errTooManyItems  = errors.New("has more than 1000 items")
)

// Bound is a step with its inputs. Each input is decoded when it is first needed, and once. Any number of
// goroutines may use it.
type Bound struct {
	step    *Step
	input   func() (any, error)
	parents map[string]func() (any, error) // by id
	item    func() (any, error)            // nil: for the step as a whole
	index   int
}

// Bind joins the step to its inputs. The error is an *EvalError, as are those of Bound's methods: a `require`
// parent is missing. What is wrong with the text of an input shows when it is needed.
func (s *Step) Bind(in Inputs) (*Bound, error) {
	b := &Bound{step: s, input: once(in.Input), parents: make(map[string]func() (any, error), len(s.Needs))}
	for _, need := range s.Needs {
		parent, ok := in.Steps[need.Step]
		if !ok {
			if need.Mode == Require {
				return nil, b.failure("steps."+need.Step.String(), "", position{}, errMissingParent)
			}
			parent.Outcome = executor.OutcomeFailed
		}
		b.parents[need.Step.String()] = parentValue(parent)
	}
	if !in.Item.IsZero() {
		return b.ForItem(in.Index, in.Item), nil
	}
	return b, nil
}

// ForItem returns the step bound to one item of its list (see Items), sharing what is decoded of the other inputs.
func (b *Bound) ForItem(index int, item content.Of[json.RawMessage]) *Bound {
	bound := *b
	bound.item, bound.index = once(item), index
	return &bound
}

func once(c content.Of[json.RawMessage]) func() (any, error) {
	return sync.OnceValues(func() (any, error) { return decode(c.Reveal()) })
}

// parentValue is a parent as children see it: its value and its outcome.
func parentValue(p Parent) func() (any, error) {
	return sync.OnceValues(func() (any, error) {
		var value any
		if !p.Value.IsZero() {
			var err error
			if value, err = decode(p.Value.Reveal()); err != nil {
				return nil, err
			}
		}
		return map[string]any{"value": value, "outcome": p.Outcome.String()}, nil
	})
}

// Prompt makes the texts of the request; system is zero when the step has none, and both are for a handler.
func (b *Bound) Prompt() (system, prompt content.Of[string], err error) {
	if p := b.step.code.system; p != nil {
		if system, err = b.text(p); err != nil {
			return content.Of[string]{}, content.Of[string]{}, err
		}
	}
	if p := b.step.code.prompt; p != nil {
		if prompt, err = b.text(p); err != nil {
			return content.Of[string]{}, content.Of[string]{}, err
		}
	}
	return system, prompt, nil
}

func (b *Bound) text(p *prompt) (content.Of[string], error) {
	data, err := b.environment(p.name, p.uses)
	if err != nil {
		return content.Of[string]{}, err
	}
	text, at, err := p.run(data)
	if err != nil {
		return content.Of[string]{}, b.failure(p.name, p.file, at, err)
	}
	return content.New(text), nil
}

// Abstains asks abstain.on. A step without it never abstains. A for_each step is asked as a whole.
func (b *Bound) Abstains() (bool, error) {
	e := b.step.code.abstainOn
	if e == nil {
		return false, nil
	}
	v, at, err := b.evaluate(e)
	if err != nil {
		return false, err
	}
	abstains, ok := v.(bool)
	if !ok {
		return false, b.failure(e.name, b.step.code.file, at, errNotBool)
	}
	return abstains, nil
}

// AbstainTo is the value of a step that abstains. It fits the output schema; that of a for_each step is a list of
// values that do.
func (b *Bound) AbstainTo() (content.Of[json.RawMessage], error) {
	return b.value(b.step.code.abstainTo, "abstain.to", b.step.fitsWhole)
}

// DegradeTo is the value of a step, or of one item of a for_each step, whose attempts are spent. It fits the output
// schema.
func (b *Bound) DegradeTo() (content.Of[json.RawMessage], error) {
	return b.value(b.step.code.degradeTo, "degrade_to", b.step.code.output.validate)
}

// Items is the list of a for_each step, at most MaxItems long.
func (b *Bound) Items() ([]content.Of[json.RawMessage], error) {
	e := b.step.code.forEach
	if e == nil {
		return nil, b.failure("for_each", "", position{}, errNotThere)
	}
	v, at, err := b.evaluate(e)
	if err != nil {
		return nil, err
	}
	list := reflect.ValueOf(v)
	switch {
	case list.Kind() != reflect.Slice:
		return nil, b.failure(e.name, b.step.code.file, at, errNotAList)
	case list.Len() > MaxItems:
		return nil, b.failure(e.name, b.step.code.file, at, errTooManyItems)
	}
	items := make([]content.Of[json.RawMessage], list.Len())
	for i := range items {
		item, err := encode(list.Index(i).Interface())
		if err != nil {
			return nil, b.failure(e.name, b.step.code.file, at, err)
		}
		items[i] = content.New(item)
	}
	return items, nil
}

// value evaluates an expression whose result becomes the step's value.
func (b *Bound) value(e *expression, key string, fits func(json.RawMessage) error) (content.Of[json.RawMessage], error) {
	var none content.Of[json.RawMessage]
	switch {
	case e == nil:
		return none, b.failure(key, "", position{}, errNotThere)
	case e.constant != nil: // checked when it was loaded
		return content.New(e.constant), nil
	}
	v, at, err := b.evaluate(e)
	if err != nil {
		return none, err
	}
	value, err := encode(v)
	if err == nil {
		err = fits(value)
	}
	if err != nil {
		return none, b.failure(key, b.step.code.file, at, err)
	}
	return content.New(value), nil
}

func isBool(value json.RawMessage) error {
	if text := string(value); text != "true" && text != "false" {
		return errNotBool
	}
	return nil
}

func isItems(value json.RawMessage) error {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil || items == nil {
		return errNotAList
	}
	if len(items) > MaxItems {
		return errTooManyItems
	}
	return nil
}

// fitsWhole says whether a value fits the step as a whole: the output schema, or a list of values that fit it.
func (s *Step) fitsWhole(value json.RawMessage) error {
	if s.ForEach == nil {
		return s.code.output.validate(value)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil || items == nil {
		return errNotAList
	}
	for _, item := range items {
		if err := s.code.output.validate(item); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bound) evaluate(e *expression) (any, position, error) {
	env, err := b.environment(e.name, e.uses)
	if err != nil {
		return nil, position{}, err
	}
	v, at, err := e.run(env)
	if err != nil {
		return nil, at, b.failure(e.name, b.step.code.file, at, err)
	}
	return v, at, nil
}

// environment decodes what a template or expression reads.
func (b *Bound) environment(key string, uses usage) (map[string]any, error) {
	env := map[string]any{}
	if uses.input {
		v, err := b.input()
		if err != nil {
			return nil, b.failure("input", "", position{}, err)
		}
		env["input"] = v
	}
	if uses.allSteps || len(uses.steps) > 0 {
		steps := make(map[string]any, len(b.parents))
		for id, parent := range b.parents {
			if !uses.allSteps && !uses.steps[id] {
				continue
			}
			v, err := parent()
			if err != nil {
				return nil, b.failure("steps."+id, "", position{}, err)
			}
			steps[id] = v
		}
		env["steps"] = steps
	}
	if uses.item {
		if b.item == nil {
			return nil, b.failure(key, "", position{}, errMissingItem)
		}
		v, err := b.item()
		if err != nil {
			return nil, b.failure("item", "", position{}, err)
		}
		env["item"], env["index"] = v, b.index
	}
	return env, nil
}

func (b *Bound) failure(key, file string, at position, reason error) *EvalError {
	return &EvalError{Step: b.step.ID, Key: key, File: file, Line: at.line, Column: at.column, reason: reason}
}
