package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// inlineSchema makes one document of a schema and the files that it refers to, because a provider gets one. The
// other files go under $defs and the references are turned to them; the order of keys stays, since models answer
// in the order of the schema's properties.
func inlineSchema(main string, data []byte, loaded map[string][]byte) (json.RawMessage, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var out bytes.Buffer
	if len(loaded) <= 1 {
		err := json.Compact(&out, data)
		return out.Bytes(), err
	}
	in := &inliner{main: main, names: map[string]string{}}
	taken := map[string]bool{}
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(loaded)), func(name string) bool { return name == main })
	for _, file := range others {
		name := strings.Map(plainRune, file)
		for taken[name] || bytes.Contains(data, []byte(`"`+name+`"`)) {
			name += "_"
		}
		taken[name] = true
		in.names[file] = name
	}
	in.defs = func() error {
		for i, file := range others {
			if i > 0 {
				in.out.WriteByte(',')
			}
			fmt.Fprintf(&in.out, "%q:", in.names[file])
			if err := in.document(file, bytes.TrimPrefix(loaded[file], []byte("\ufeff"))); err != nil {
				return err
			}
		}
		return nil
	}
	if err := in.document(main, data); err != nil {
		return nil, err
	}
	return in.out.Bytes(), nil
}

func plainRune(r rune) rune {
	if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-') {
		return r
	}
	return '_'
}

// inliner copies schemas token by token.
type inliner struct {
	main  string
	names map[string]string // under $defs, by file
	defs  func() error      // writes the other files
	out   bytes.Buffer
}

// keyKind says what the keys of an object are.
type keyKind uint8

const (
	keywordKeys keyKind = iota
	nameKeys            // each with a schema
	dataKeys            // of no meaning to the schema
)

var (
	schemaMaps = map[string]bool{"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true, "dependencies": true}
	schemaData = map[string]bool{"const": true, "enum": true, "default": true, "examples": true}
	// The meaning of these depends on the document that they stand in.
	unmovable = map[string]bool{"$id": true, "$anchor": true, "$dynamicRef": true, "$dynamicAnchor": true, "$recursiveRef": true, "$recursiveAnchor": true}
)

var errUnmovable = errors.New("a schema with references to other files cannot use $id, anchors, $dynamicRef or $recursiveRef, because providers get it as one document")

func (in *inliner) document(file string, text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return in.value(d, file, keywordKeys, true)
}

func (in *inliner) value(d *json.Decoder, file string, k keyKind, root bool) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return in.object(d, file, k, root)
	case json.Delim('['):
		in.out.WriteByte('[')
		for i := 0; d.More(); i++ {
			if i > 0 {
				in.out.WriteByte(',')
			}
			if err := in.value(d, file, k, false); err != nil {
				return err
			}
		}
		in.out.WriteByte(']')
		_, err := d.Token()
		return err
	}
	return in.scalar(token)
}

func (in *inliner) scalar(v any) error {
	text, err := encode(v)
	in.out.Write(text)
	return err
}

func (in *inliner) object(d *json.Decoder, file string, k keyKind, root bool) error {
	in.out.WriteByte('{')
	first, placed := true, false
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if k == keywordKeys && unmovable[key] {
			return errUnmovable
		}
		if root && file != in.main && key == "$schema" {
			if _, err := d.Token(); err != nil {
				return err
			}
			continue
		}
		if !first {
			in.out.WriteByte(',')
		}
		first = false
		if err := in.scalar(key); err != nil {
			return err
		}
		in.out.WriteByte(':')
		switch {
		case k == keywordKeys && key == "$ref":
			err = in.reference(d, file)
		case root && file == in.main && key == "$defs":
			placed = true
			err = in.withDefs(d, file)
		default:
			err = in.value(d, file, below(k, key), false)
		}
		if err != nil {
			return err
		}
	}
	if root && file == in.main && !placed {
		if !first {
			in.out.WriteByte(',')
		}
		in.out.WriteString(`"$defs":{`)
		if err := in.defs(); err != nil {
			return err
		}
		in.out.WriteByte('}')
	}
	in.out.WriteByte('}')
	_, err := d.Token()
	return err
}

// below is what the keys of an object under key are.
func below(k keyKind, key string) keyKind {
	switch {
	case k == dataKeys:
		return dataKeys
	case k == nameKeys:
		return keywordKeys
	case schemaMaps[key]:
		return nameKeys
	case schemaData[key]:
		return dataKeys
	}
	return keywordKeys
}

// withDefs copies the main file's own $defs and puts the other files beside them.
func (in *inliner) withDefs(d *json.Decoder, file string) error {
	before := in.out.Len()
	if err := in.value(d, file, nameKeys, false); err != nil {
		return err
	}
	own := in.out.Len() - before
	in.out.Truncate(in.out.Len() - 1) // the brace
	if own > len("{}") {
		in.out.WriteByte(',')
	}
	if err := in.defs(); err != nil {
		return err
	}
	in.out.WriteByte('}')
	return nil
}

// reference turns a $ref to where its target has been put.
func (in *inliner) reference(d *json.Decoder, file string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	ref, _ := token.(string)
	location, fragment, _ := strings.Cut(ref, "#")
	target := file
	if location != "" {
		name, err := url.PathUnescape(location)
		if err != nil {
			return errUnmovable
		}
		target = path.Join(path.Dir(file), name)
	}
	base := "#"
	if target != in.main {
		name, ok := in.names[target]
		if !ok { // one of JSON Schema's own
			return in.scalar(ref)
		}
		base = "#/$defs/" + name
	}
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		return errUnmovable
	}
	return in.scalar(base + fragment)
}
