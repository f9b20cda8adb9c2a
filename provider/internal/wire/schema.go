package wire

import "encoding/json"

// Subset is the part of JSON Schema that an API enforces word by word. A schema outside it is refused by such an API with
// a 400, so a client asks with what the API does take, and the step validates the answer in any case.
type Subset struct {
	Keywords    map[string]bool
	AllRequired bool // every property of an object must be required
	MaxDepth    int  // of objects within objects
	MaxFields   int  // properties in all
}

// Words makes the set of keywords.
func Words(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

// Bare returns the schema without what only names it at its root ($schema, $id, $comment): some APIs refuse words that
// they do not enforce. What is within keeps its order, which models follow when they answer.
func Bare(schema json.RawMessage) json.RawMessage {
	var root map[string]json.RawMessage
	if json.Unmarshal(schema, &root) != nil {
		return schema
	}
	before := len(root)
	for _, word := range []string{"$schema", "$id", "$comment"} {
		delete(root, word)
	}
	if len(root) == before {
		return schema
	}
	bare, err := Marshal(root)
	if err != nil {
		return schema
	}
	return bare
}

// RootType returns the type of the schema's root; empty when it is none or several.
func RootType(schema json.RawMessage) string {
	var root struct {
		Type any `json:"type"`
	}
	_ = json.Unmarshal(schema, &root)
	name, _ := root.Type.(string)
	return name
}

// Holds says whether the schema is within the subset: an object at the root, every object closed, no other keywords.
func (s Subset) Holds(schema json.RawMessage) bool {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || RootType(schema) != "object" {
		return false
	}
	fields := 0
	return s.holds(root, 1, &fields)
}

func (s Subset) holds(v any, depth int, fields *int) bool {
	node, ok := v.(map[string]any)
	if !ok || depth > s.MaxDepth {
		return false
	}
	for word := range node {
		if !s.Keywords[word] {
			return false
		}
	}
	if node["type"] == "object" || node["properties"] != nil {
		if !s.closed(node, depth, fields) {
			return false
		}
	}
	if items, there := node["items"]; there && !s.holds(items, depth, fields) {
		return false
	}
	for _, word := range []string{"$defs", "definitions"} {
		for _, def := range object(node[word]) {
			if !s.holds(def, depth, fields) {
				return false
			}
		}
	}
	options, _ := node["anyOf"].([]any)
	for _, option := range options {
		if !s.holds(option, depth, fields) {
			return false
		}
	}
	return true
}

// closed says whether an object allows no properties but its own.
func (s Subset) closed(node map[string]any, depth int, fields *int) bool {
	if open, isBool := node["additionalProperties"].(bool); !isBool || open {
		return false
	}
	required := map[string]bool{}
	names, _ := node["required"].([]any)
	for _, n := range names {
		name, _ := n.(string)
		required[name] = true
	}
	for name, property := range object(node["properties"]) {
		*fields++
		if *fields > s.MaxFields || (s.AllRequired && !required[name]) || !s.holds(property, depth+1, fields) {
			return false
		}
	}
	return true
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
