package flow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"fourfold/provider"
)

// schemaRoot is the base of schema locations, so that a relative $ref is a file of the bundle and nothing else.
const schemaRoot = "bundle:///"

// schema is a compiled output schema.
type schema struct {
	compiled *jsonschema.Schema
	output   provider.OutputSchema
}

// sent is what providers get; nil for no schema.
func (s *schema) sent() *provider.OutputSchema {
	if s == nil {
		return nil
	}
	return &s.output
}

// Validate says whether value is one JSON value that fits the step's output schema; without a schema any value
// fits. Within for_each it judges the value of one item. Errors: *SchemaError and *ValueError; neither quotes the
// value.
func (s *Step) Validate(value json.RawMessage) error { return s.code.output.validate(value) }

func (s *schema) validate(value json.RawMessage) error {
	if s == nil {
		if !json.Valid(value) {
			return errNotJSON
		}
		return nil
	}
	v, err := decodeExact(value)
	if err != nil {
		return err
	}
	return s.validateDecoded(v)
}

func (s *schema) validateDecoded(v any) error {
	err := s.compiled.Validate(v)
	if invalid := (*jsonschema.ValidationError)(nil); errors.As(err, &invalid) {
		return schemaError(invalid)
	}
	return err
}

// schemaError keeps the rule of the first broken leaf, in the order of places in the schema, so that the same value
// always gives the same error.
func schemaError(e *jsonschema.ValidationError) *SchemaError {
	var first *SchemaError
	for leaf := range leaves(e) {
		found := &SchemaError{}
		location := []string{strings.TrimPrefix(leaf.SchemaURL, schemaRoot)}
		switch k := leaf.ErrorKind.(type) {
		case *kind.Not:
			found.Keyword = "not"
		case *kind.RefCycle:
			found.Keyword = "$ref"
		default:
			if path := k.KeywordPath(); len(path) > 0 {
				found.Keyword = path[0]
				location = append(location, path...)
			}
		}
		found.Location = strings.Join(location, "/")
		if first == nil || found.Location < first.Location {
			first = found
		}
	}
	return first
}

// leaves yields the innermost causes.
func leaves(e *jsonschema.ValidationError) func(func(*jsonschema.ValidationError) bool) {
	return func(yield func(*jsonschema.ValidationError) bool) {
		var walk func(e *jsonschema.ValidationError) bool
		walk = func(e *jsonschema.ValidationError) bool {
			for _, cause := range e.Causes {
				if !walk(cause) {
					return false
				}
			}
			return len(e.Causes) > 0 || yield(e)
		}
		walk(e)
	}
}

// compileSchema reads and compiles an output schema with the files that it refers to; nil when it has problems,
// which are then noted.
func (c *checker) compileSchema(name string, t text) *schema {
	file, data, ok := c.open(t, "output")
	if !ok {
		return nil
	}
	if _, err := decodeSchema(data); err != nil {
		c.found.add(file, err.at, "%s", err.message)
		return nil
	}
	loader := &schemaLoader{files: c.files}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(loader)
	compiled, err := compiler.Compile((&url.URL{Scheme: "bundle", Path: "/" + file}).String())
	if err != nil {
		c.schemaProblem(file, loader, err)
		return nil
	}
	if compiled.DraftVersion < 7 {
		c.found.add(file, position{}, "draft %d is not supported; write the schema for draft 7, 2019-09 or 2020-12", compiled.DraftVersion)
		return nil
	}
	if endless(compiled) {
		c.found.add(file, position{}, "a reference leads back to itself, so that no value fits")
		return nil
	}
	sent, err := inlineSchema(file, data, loader.loaded)
	if err != nil {
		c.found.add(file, position{}, "%v", err)
		return nil
	}
	return &schema{compiled: compiled, output: provider.OutputSchema{Name: name, JSON: sent}}
}

// endless says whether a schema refers back to itself without going into the value.
func endless(compiled *jsonschema.Schema) bool {
	for _, v := range []any{nil, map[string]any{}, []any{}} {
		var invalid *jsonschema.ValidationError
		if !errors.As(compiled.Validate(v), &invalid) {
			continue
		}
		for leaf := range leaves(invalid) {
			if _, ok := leaf.ErrorKind.(*kind.RefCycle); ok {
				return true
			}
		}
	}
	return false
}

// schemaLoader finds the files that a schema refers to. Only files of the bundle are found.
type schemaLoader struct {
	files  *files
	loaded map[string][]byte
}

// loadError is a file that a schema refers to and that cannot be had.
type loadError struct {
	file    string // whose fault it is; empty: the referring schema's
	at      position
	message string
}

func (e *loadError) Error() string { return e.message }

// Load implements jsonschema.URLLoader.
func (l *schemaLoader) Load(location string) (any, error) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "bundle" {
		return nil, &loadError{message: "refers to " + location + ": only files of the bundle can be referred to, by relative path"}
	}
	name := strings.TrimPrefix(u.Path, "/")
	data, err := l.files.read(name)
	if err != nil {
		return nil, &loadError{message: "refers to " + name + ": " + err.Error()}
	}
	doc, bad := decodeSchema(data)
	if bad != nil {
		bad.file = name
		return nil, bad
	}
	if l.loaded == nil {
		l.loaded = map[string][]byte{}
	}
	l.loaded[name] = data
	return doc, nil
}

// decodeSchema reads a schema's JSON. The error has no file yet.
func decodeSchema(data []byte) (any, *loadError) {
	if line, column, bad := FirstBadByte(data); bad {
		return nil, &loadError{at: position{line, column}, message: notText}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	if err != nil {
		return nil, &loadError{at: jsonErrorPosition(data, err), message: "not valid JSON: " + err.Error()}
	}
	return doc, nil
}

// schemaProblem notes why a schema does not compile.
func (c *checker) schemaProblem(file string, loader *schemaLoader, err error) {
	var broken *jsonschema.SchemaValidationError
	var load *loadError
	if failed := (*jsonschema.LoadURLError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	switch {
	case errors.As(err, &load):
		c.found.add(cmp.Or(load.file, file), load.at, "%s", load.message)
	case errors.As(err, &broken):
		file := bundleName(broken.URL, file)
		if invalid := (*jsonschema.ValidationError)(nil); errors.As(broken.Err, &invalid) {
			c.metaProblems(file, loader.loaded[file], invalid)
			return
		}
		c.found.add(file, position{}, "not a valid JSON Schema")
	default:
		c.found.add(file, position{}, "not a valid JSON Schema: %s", strings.ReplaceAll(err.Error(), schemaRoot, ""))
	}
}

// metaProblems notes what the rules of JSON Schema say of a schema: one problem for each place in it.
func (c *checker) metaProblems(file string, data []byte, invalid *jsonschema.ValidationError) {
	messages := map[string][]string{}
	for leaf := range leaves(invalid) {
		pointer := strings.Join(leaf.InstanceLocation, "\x00")
		messages[pointer] = append(messages[pointer], leaf.BasicOutput().Error.String())
	}
	for pointer, m := range messages {
		var path []string
		if pointer != "" {
			path = strings.Split(pointer, "\x00")
		}
		where := "/" + strings.Join(path, "/")
		c.found.add(file, jsonPosition(data, path), "not a valid JSON Schema: at %s: %s", where, strings.Join(slices.Sorted(slices.Values(m)), ", or "))
	}
}

func bundleName(location, otherwise string) string {
	location, _, _ = strings.Cut(location, "#")
	if name, ok := strings.CutPrefix(location, schemaRoot); ok {
		if name, err := url.PathUnescape(name); err == nil {
			return name
		}
	}
	return otherwise
}
