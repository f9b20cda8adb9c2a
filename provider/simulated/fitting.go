package simulated

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// fitting makes a plausible value that fits a JSON Schema, the same for the same seed. It knows the keywords that schemas for
// models use, drafts 7 to 2020-12: type, enum, const, properties, required, items, prefixItems, bounds of numbers, lengths and
// counts, pattern, format, local $ref, allOf, anyOf and oneOf. What it does not know (not, if, dependentSchemas) it leaves out.
func fitting(schema []byte, seed uint64) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber()
	var root any
	if decoder.Decode(&root) != nil {
		return "", errors.New("simulated: the schema is no JSON")
	}
	left := mostValues
	m := maker{root: root, rand: rand.New(rand.NewPCG(seed, seed)), left: &left}
	value := m.value(root, "value", 0)
	if left < 0 {
		return "", errors.New("simulated: the schema asks for too much")
	}
	return toJSON(value)
}

// object is a schema, or a part of one.
type object = map[string]any

type maker struct {
	root any
	rand *rand.Rand
	left *int // how many more values may be made
}

const (
	// deep is where values that may be left out are left out, so that a schema that refers to itself ends.
	deep = 5
	// deepest is where a schema that leaves nothing out is given up, and mostValues and longest how much is made of one.
	deepest    = 64
	mostValues = 10_000
	longest    = 1 << 16
	// exact is the range of integers that every reader of JSON keeps.
	exact = 1 << 53
)

// value makes a value for a schema; name is the property that it is for.
func (m maker) value(schema any, name string, depth int) any {
	s, ok := schema.(object)
	if *m.left--; !ok || *m.left < 0 || depth > deepest {
		return "simulated " + name
	}
	s = m.flat(s, depth)
	if value, ok := s["const"]; ok {
		return value
	}
	if values, ok := s["enum"].([]any); ok && len(values) > 0 {
		return values[m.rand.IntN(len(values))]
	}
	switch typeOf(s) {
	case "object":
		return m.object(s, depth)
	case "array":
		return m.array(s, name, depth)
	case "integer":
		return m.integer(s)
	case "number":
		return m.number(s)
	case "boolean":
		return m.rand.IntN(2) == 1
	case "null":
		return nil
	}
	return m.text(s, name)
}

// flat resolves $ref and joins allOf and the first of anyOf and oneOf into the schema around them.
func (m maker) flat(s object, depth int) object {
	for range deepest {
		var parts []any
		if ref, ok := s["$ref"].(string); ok {
			parts = append(parts, m.resolve(ref))
		}
		all, _ := s["allOf"].([]any)
		parts = append(parts, all...)
		for _, key := range []string{"anyOf", "oneOf"} {
			if some, ok := s[key].([]any); ok && len(some) > 0 {
				parts = append(parts, choose(some, depth))
			}
		}
		if len(parts) == 0 {
			return s
		}
		s = maps.Clone(s)
		for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
			delete(s, key)
		}
		for _, part := range parts {
			if p, ok := part.(object); ok {
				s = join(s, p)
			}
		}
	}
	return s
}

// choose takes the first alternative, and deep down one that is null, if there is one.
func choose(some []any, depth int) any {
	if depth >= deep {
		for _, one := range some {
			if s, ok := one.(object); ok && s["type"] == "null" {
				return one
			}
		}
	}
	return some[0]
}

// join returns a schema that asks for what both ask for, where the keywords allow that.
func join(a, b object) object {
	joined := maps.Clone(a)
	for key, value := range b {
		switch old := joined[key].(type) {
		case object:
			if fresh, ok := value.(object); ok {
				value = join(old, fresh)
			}
		case []any:
			if fresh, ok := value.([]any); ok && (key == "required" || key == "allOf") {
				value = append(slices.Clone(old), fresh...)
			}
		}
		joined[key] = value
	}
	return joined
}

// resolve follows a reference within the schema.
func (m maker) resolve(ref string) any {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	found := m.root
	for key := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if key == "" {
			continue
		}
		key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
		if list, ok := found.([]any); ok {
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(list) {
				found = list[i]
				continue
			}
		}
		s, _ := found.(object)
		found = s[key]
	}
	return found
}

// typeOf returns the type that a schema asks for, or that its keywords are about. Of several the first that is not null counts.
func typeOf(s object) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && (name != "null" || len(t) == 1) {
				return name
			}
		}
	}
	for _, by := range [][2]string{
		{"properties", "object"},
		{"required", "object"},
		{"items", "array"},
		{"prefixItems", "array"},
		{"minItems", "array"},
		{"minimum", "number"},
		{"maximum", "number"},
	} {
		if _, ok := s[by[0]]; ok {
			return by[1]
		}
	}
	return "string"
}

func (m maker) object(s object, depth int) any {
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]any)
	made := object{}
	for _, name := range sorted(properties) {
		if depth < deep || slices.Contains(required, any(name)) {
			made[name] = m.value(properties[name], name, depth+1)
		}
	}
	for _, name := range required {
		if name, ok := name.(string); ok {
			if _, has := made[name]; !has {
				made[name] = m.value(s["additionalProperties"], name, depth+1)
			}
		}
	}
	least, _ := count(s, "minProperties")
	for i := len(made); i < least; i++ {
		name := "simulated" + strconv.Itoa(i)
		made[name] = m.value(s["additionalProperties"], name, depth+1)
	}
	return made
}

func (m maker) array(s object, name string, depth int) any {
	first, _ := s["prefixItems"].([]any)
	rest := s["items"]
	if tuple, ok := rest.([]any); ok { // draft 7
		first, rest = tuple, s["additionalItems"]
	}
	least, _ := count(s, "minItems")
	n := max(least, len(first))
	if depth < deep && rest != false {
		n = max(n, 1+m.rand.IntN(3))
	}
	if most, ok := count(s, "maxItems"); ok {
		n = min(n, most)
	}
	made := make([]any, 0, n)
	if wanted, ok := s["contains"]; ok {
		rest = wanted
		n = max(n, 1)
	}
	for tries := 0; len(made) < n && tries < 10*n+100 && *m.left >= 0; tries++ {
		schema := rest
		if len(made) < len(first) {
			schema = first[len(made)]
		}
		item := m.value(schema, name, depth+1)
		if s["uniqueItems"] == true && holds(made, item) {
			if tries < 5*n+50 {
				continue
			}
			if len(made) >= least {
				break
			}
		}
		made = append(made, item)
	}
	return made
}

func holds(made []any, item any) bool {
	text, _ := toJSON(item)
	return slices.ContainsFunc(made, func(other any) bool {
		same, _ := toJSON(other)
		return same == text
	})
}

// bounds returns the range of a number; the upper bound is at least the lower one.
func bounds(s object, step float64) (low, high float64) {
	low, hasLow := number(s, "minimum")
	if over, ok := number(s, "exclusiveMinimum"); ok && (!hasLow || over >= low) {
		low, hasLow = over+step, true
	}
	high, hasHigh := number(s, "maximum")
	if under, ok := number(s, "exclusiveMaximum"); ok && (!hasHigh || under <= high) {
		high, hasHigh = under-step, true
	}
	switch {
	case !hasLow && !hasHigh:
		low, high = 0, 9
	case !hasHigh:
		high = low + 9
	case !hasLow:
		low = min(0, high)
	}
	return low, max(low, high)
}

func (m maker) integer(s object) any {
	low, high := bounds(s, 1)
	low, high = max(math.Ceil(low), -exact), min(math.Floor(high), exact)
	if step, ok := number(s, "multipleOf"); ok && step > 0 {
		return int64(min(max(math.Ceil(low/step)*step, -exact), exact))
	}
	low = min(low, exact)
	return int64(low) + m.rand.Int64N(int64(max(high-low, 0))+1)
}

func (m maker) number(s object) any {
	low, high := bounds(s, 0.01)
	if step, ok := number(s, "multipleOf"); ok && step > 0 {
		return math.Ceil(low/step) * step
	}
	share := float64(m.rand.IntN(101)) / 100
	return min(max(math.Round((low+(high-low)*share)*100)/100, low), high)
}

func number(s object, key string) (float64, bool) {
	n, ok := s[key].(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func count(s object, key string) (int, bool) {
	f, ok := number(s, key)
	return int(min(max(f, 0), longest)), ok
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
