package telemetry

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// module is the path that the types of this project begin with: their String methods return enumerations and validated
// identifiers.
const module = "fourfold/"

// field adds one key-value pair, as far as it cannot be content.
func field(e *zerolog.Event, key, value any) *zerolog.Event {
	if e == nil {
		return nil
	}
	name, ok := key.(string)
	if !ok || !isPlain(name) {
		name = "unnamed"
	}
	switch v := value.(type) {
	case nil:
		return e.Str(name, "none")
	case time.Duration:
		return e.Int64(strings.TrimSuffix(name, "_ms")+"_ms", v.Milliseconds())
	case time.Time:
		return e.Str(name, stamp(v))
	case error:
		return e.Str(name, ErrorCode(v))
	case cause:
		return e.Str(name, string(v))
	case string:
		return e.Str(name, plain(v))
	case []string:
		return e.Array(name, plains(v))
	case fmt.Stringer:
		return e.Str(name, stringer(v))
	}
	return scalar(e, name, value)
}

// scalar adds numbers and booleans of any named type.
func scalar(e *zerolog.Event, name string, value any) *zerolog.Event {
	v := reflect.ValueOf(value)
	switch {
	case v.CanInt():
		return e.Int64(name, v.Int())
	case v.CanUint():
		return e.Uint64(name, v.Uint())
	case v.CanFloat():
		return e.Float64(name, v.Float())
	case v.Kind() == reflect.Bool:
		return e.Bool(name, v.Bool())
	}
	return e.Str(name, withheld)
}

// plain returns s if it is spelt like an identifier and is no URL, withheld otherwise.
func plain(s string) string {
	if s == "" || isPlain(s) {
		return s
	}
	return withheld
}

type plains []string

// MarshalZerologArray adds each string as plain shows it.
func (p plains) MarshalZerologArray(a *zerolog.Array) {
	for _, s := range p {
		a.Str(plain(s))
	}
}

// stringer prints our own types by their String method, which returns an enumeration or an identifier, and withholds
// foreign ones, whose text could be anything.
func stringer(v fmt.Stringer) string {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		if reflect.ValueOf(v).IsNil() {
			return "none"
		}
		t = t.Elem()
	}
	if !strings.HasPrefix(t.PkgPath(), module) {
		return withheld
	}
	return ident(v.String())
}
