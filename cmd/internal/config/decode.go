package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"fourfold/flow"
)

// maxDepth bounds nesting, so that an alias within its own anchor ends in an error.
const maxDepth = 32

type position struct{ line, column int }

// decoder fills a struct from a YAML tree. It notes what is wrong and goes on, so that one look at the
// output mends the whole file; a library's decoder stops at the first error.
type decoder struct {
	file     string
	problems flow.Problems
	lines    map[string]position
	anchors  map[string]ast.Node
}

// selfDecoder is a type that comes in more than one form.
type selfDecoder interface {
	decode(d *decoder, n ast.Node, key string, depth int)
}

func (d *decoder) note(n ast.Node, key, format string, args ...any) {
	at := positionOf(n)
	message := fmt.Sprintf(format, args...)
	if key != "" {
		message = key + ": " + message
	}
	d.problems = append(d.problems, flow.Problem{File: d.file, Line: at.line, Column: at.column, Message: message})
}

func positionOf(n ast.Node) position {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return position{}
	}
	p := n.GetToken().Position
	// A mapping's own token is the colon of its first pair: the key is what a reader looks for.
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return positionOf(m.Values[0].Key)
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return positionOf(m.Key)
	}
	return position{p.Line, p.Column}
}

func (d *decoder) value(n ast.Node, into reflect.Value, key string, depth int) {
	if depth > maxDepth {
		d.note(n, key, "is nested too deeply")
		return
	}
	n = d.resolve(n)
	if n == nil {
		return // an empty key is an absent one
	}
	if _, absent := n.(*ast.NullNode); absent {
		return
	}
	if _, seen := d.lines[key]; !seen {
		d.lines[key] = positionOf(n)
	}
	if into.CanAddr() {
		if own, ok := into.Addr().Interface().(selfDecoder); ok {
			own.decode(d, n, key, depth)
			return
		}
	}
	switch into.Kind() {
	case reflect.Pointer:
		p := reflect.New(into.Type().Elem())
		d.value(n, p.Elem(), key, depth+1)
		into.Set(p)
	case reflect.Struct:
		d.structure(n, into, key, depth)
	case reflect.Map:
		d.mapping(n, into, key, depth)
	case reflect.Slice:
		d.sequence(n, into, key, depth)
	default:
		d.scalar(n, into, key)
	}
}

func (d *decoder) structure(n ast.Node, into reflect.Value, key string, depth int) {
	pairs, ok := d.pairs(n, 0)
	if !ok {
		d.note(n, key, "must be a mapping")
		return
	}
	fields := map[string]reflect.Value{}
	var names []string
	for i := range into.NumField() {
		tag, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("yaml"), ",")
		if tag != "" {
			fields[tag] = into.Field(i)
			names = append(names, tag)
		}
	}
	for _, p := range pairs {
		name := p.name()
		field, known := fields[name]
		if !known {
			d.note(p.Key, join(key, name), "unknown key%s", flow.Suggest(name, names))
			continue
		}
		d.lines[join(key, name)] = positionOf(p.Key)
		d.value(p.Value, field, join(key, name), depth+1)
	}
}

func (d *decoder) mapping(n ast.Node, into reflect.Value, key string, depth int) {
	pairs, ok := d.pairs(n, 0)
	if !ok {
		d.note(n, key, "must be a mapping")
		return
	}
	m := reflect.MakeMap(into.Type())
	for _, p := range pairs {
		v := reflect.New(into.Type().Elem()).Elem()
		d.lines[join(key, p.name())] = positionOf(p.Key)
		d.value(p.Value, v, join(key, p.name()), depth+1)
		m.SetMapIndex(reflect.ValueOf(p.name()), v)
	}
	into.Set(m)
}

func (d *decoder) sequence(n ast.Node, into reflect.Value, key string, depth int) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.note(n, key, "must be a list")
		return
	}
	list := reflect.MakeSlice(into.Type(), len(s.Values), len(s.Values))
	for i, item := range s.Values {
		d.value(item, list.Index(i), key+"["+strconv.Itoa(i)+"]", depth+1)
	}
	into.Set(list)
}

func (d *decoder) scalar(n ast.Node, into reflect.Value, key string) {
	text, ok := scalarText(n)
	switch {
	case into.Type() == reflect.TypeFor[Duration]():
		v, err := time.ParseDuration(text)
		if !ok || err != nil || v < 0 {
			d.note(n, key, "must be a duration such as 250ms, 8s or 1m30s")
			return
		}
		into.SetInt(int64(v))
	case into.Kind() == reflect.String:
		if !ok {
			d.note(n, key, "must be a text")
			return
		}
		into.SetString(text)
	case into.Kind() == reflect.Int:
		v, err := strconv.Atoi(text)
		if _, number := n.(*ast.IntegerNode); !number || err != nil {
			d.note(n, key, "must be a whole number")
			return
		}
		into.SetInt(int64(v))
	case into.Kind() == reflect.Float64:
		v, err := strconv.ParseFloat(text, 64)
		_, whole := n.(*ast.IntegerNode)
		_, broken := n.(*ast.FloatNode)
		if !whole && !broken || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			d.note(n, key, "must be a number")
			return
		}
		into.SetFloat(v)
	case into.Kind() == reflect.Bool:
		b, boolean := n.(*ast.BoolNode)
		if !boolean {
			d.note(n, key, "must be true or false")
			return
		}
		into.SetBool(b.Value)
	default:
		panic("config: no decoding for " + into.Type().String())
	}
}

// scalarText is the literal text of a scalar: a header's value may look like a number.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// decode reads a chain as a list of names or as a mapping.
func (c *Chain) decode(d *decoder, n ast.Node, key string, depth int) {
	if _, list := n.(*ast.SequenceNode); list {
		d.sequence(n, reflect.ValueOf(&c.Providers).Elem(), key, depth)
		return
	}
	if _, ok := d.pairs(n, 0); !ok {
		d.note(n, key, "must be a list of providers, or a mapping with providers and fallback_on")
		return
	}
	type long Chain
	d.structure(n, reflect.ValueOf((*long)(c)).Elem(), key, depth)
}

type pair struct{ Key, Value ast.Node }

func (p pair) name() string {
	if text, ok := scalarText(p.Key); ok {
		return text
	}
	return p.Key.String()
}

// pairs returns what a mapping holds, with merge keys (<<) laid under its own keys.
func (d *decoder) pairs(n ast.Node, depth int) ([]pair, bool) {
	var values []*ast.MappingValueNode
	switch n := d.resolve(n).(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return nil, false
	}
	var own, merged []pair
	for _, v := range values {
		if _, merge := v.Key.(*ast.MergeKeyNode); merge && depth < maxDepth {
			below, _ := d.pairs(v.Value, depth+1)
			merged = append(merged, below...)
			continue
		}
		own = append(own, pair{v.Key, v.Value})
	}
	for _, m := range merged {
		if !slices.ContainsFunc(own, func(o pair) bool { return o.name() == m.name() }) {
			own = append(own, m)
		}
	}
	return own, true
}

// resolve looks through anchors, aliases and tags.
func (d *decoder) resolve(n ast.Node) ast.Node {
	for range maxDepth {
		switch v := n.(type) {
		case *ast.AnchorNode:
			n = v.Value
		case *ast.TagNode:
			n = v.Value
		case *ast.AliasNode:
			target, ok := d.anchors[v.Value.GetToken().Value]
			if !ok {
				d.note(v, "", "alias of an anchor that is not there")
				return nil
			}
			n = target
		default:
			return n
		}
	}
	return nil
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}
