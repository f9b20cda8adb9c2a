package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Bounds on what a template or an expression may make.
const (
	maxOutput = 8 << 20 // bytes of a prompt, a string or an encoded value
	maxDepth  = 1000    // of nested lists and objects in an encoded value
)

var (
	errNotJSON    error = &ValueError{}
	errTooLarge         = errors.New("makes more than 8 MiB")
	errTooDeep          = errors.New("makes a value that is nested more than 1000 deep")
	errNotAValue        = errors.New("makes something that is no JSON value")
	errTooMuch          = errors.New("takes too many steps")
	errUnreadable       = errors.New("cannot be evaluated on these inputs")
)

// decode reads one JSON value for templates and expressions: map[string]any, []any, string, bool, nil, and for
// numbers what number makes of them.
func decode(data []byte) (any, error) {
	v, err := decodeExact(data)
	if err != nil {
		return nil, err
	}
	return convertNumbers(v), nil
}

// decodeExact reads one JSON value with every number as json.Number.
func decodeExact(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, errNotJSON
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	return v, nil
}

func convertNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for i, e := range v {
			v[i] = convertNumbers(e)
		}
	case map[string]any:
		for k, e := range v {
			v[k] = convertNumbers(e)
		}
	}
	return v
}

// number is the int or float64 that stands for n exactly. A number that neither can hold stays as it is written,
// so that it is passed on unharmed; only arithmetic on it rounds (see wide).
func number(n json.Number) any {
	text := n.String()
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.Atoi(text); err == nil && text != "-0" {
			return i
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if len(text) <= 16 && !strings.ContainsAny(text, "eE") {
		return f // up to 15 digits always survive
	}
	if err != nil || decimalOf(text) != decimalOf(strconv.FormatFloat(f, 'e', -1, 64)) {
		return n
	}
	return f
}

// decimal is a number as sign, digits without zeros at either end, and the power of ten of the first digit.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

func decimalOf(text string) decimal {
	var d decimal
	text, d.negative = strings.TrimPrefix(text, "-"), strings.HasPrefix(text, "-")
	if mantissa, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		text = mantissa
		d.exponent, _ = strconv.Atoi(exponent)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d.exponent += len(whole) - (len(whole+fraction) - len(digits))
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		d.exponent = 0
	}
	return d
}

// wide turns a number that is kept as text into the nearest float64, for arithmetic and comparison.
func wide(v any) any {
	if n, ok := v.(json.Number); ok {
		f, _ := strconv.ParseFloat(n.String(), 64) // out of range: an infinity, which compares rightly
		return f
	}
	return v
}

// encode writes a value that an expression or template made as compact JSON, object keys sorted, no larger than
// maxOutput.
func encode(v any) (json.RawMessage, error) {
	return appendJSON(nil, v, 0)
}

func appendJSON(dst []byte, v any, depth int) ([]byte, error) {
	if len(dst) > maxOutput {
		return nil, errTooLarge
	}
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendString(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case json.Number:
		return append(dst, v...), nil
	case []any:
		return appendList(dst, len(v), func(i int) any { return v[i] }, depth)
	case map[string]any:
		return appendObject(dst, v, depth)
	}
	return appendOther(dst, reflect.ValueOf(v), depth)
}

// appendOther writes the other types that expressions make: lists of one type, groups by key, and floats.
func appendOther(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		return appendList(dst, v.Len(), func(i int) any { return v.Index(i).Interface() }, depth)
	case reflect.Map:
		object := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			key := it.Key()
			if key.Kind() == reflect.Interface {
				key = key.Elem()
			}
			if key.Kind() != reflect.String {
				return nil, errNotAValue
			}
			object[key.String()] = it.Value().Interface()
		}
		return appendObject(dst, object, depth)
	case reflect.Float64, reflect.Float32, reflect.Int64, reflect.Int32:
		text, err := json.Marshal(v.Interface())
		if err != nil { // NaN or an infinity
			return nil, errNotAValue
		}
		return append(dst, text...), nil
	}
	return nil, errNotAValue
}

func appendList(dst []byte, n int, at func(int) any, depth int) (_ []byte, err error) {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendJSON(dst, at(i), depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, object map[string]any, depth int) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, key := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendString(dst, key); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendJSON(dst, object[key], depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendString writes a JSON string without the HTML escapes that encoding/json adds by default.
func appendString(dst []byte, s string) ([]byte, error) {
	if len(dst)+len(s) > maxOutput {
		return nil, errTooLarge
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			buf := bytes.NewBuffer(dst)
			e := json.NewEncoder(buf)
			e.SetEscapeHTML(false)
			if err := e.Encode(s); err != nil {
				return nil, errNotAValue
			}
			return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"'), nil
}
