package simulated

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// documents returns the JSON objects and arrays that a text holds, in order, and the one that takes up most of it.
func documents(text string) (all []any, largest any) {
	size := 0
	for {
		i := strings.IndexAny(text, "{[")
		if i < 0 {
			return all, largest
		}
		text = text[i:]
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var value any
		if decoder.Decode(&value) != nil {
			text = text[1:]
			continue
		}
		all = append(all, value)
		n := int(decoder.InputOffset())
		if n > size {
			size, largest = n, value
		}
		text = text[n:]
	}
}

// at follows a path such as tables.0.kind; false: there is nothing.
func at(value any, path string) (any, bool) {
	for key := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			inner, ok := v[key]
			if !ok {
				return nil, false
			}
			value = inner
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// fits reports whether one of the documents has every value at its path.
func fits(docs []any, where map[string]any) bool {
	for _, doc := range docs {
		all := true
		for path, want := range where {
			got, ok := at(doc, path)
			all = all && ok && fmt.Sprint(got) == fmt.Sprint(want)
		}
		if all {
			return true
		}
	}
	return len(where) == 0
}

// toJSON is the function json of templates.
func toJSON(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}
