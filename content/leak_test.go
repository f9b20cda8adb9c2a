package content_test

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"log"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	texttemplate "text/template"

	"fourfold/content"
	"fourfold/content/contenttest"
)

// letter is content of a shape that printers go into.
type letter struct {
	Text  string
	lines []string
	inner *letter
}

func newLetter() letter {
	return letter{contenttest.Canary, []string{contenttest.Canary}, &letter{Text: contenttest.Canary}}
}

// textError is an error that is nothing but content.
type textError string

func (e textError) Error() string { return string(e) }

// holders returns o in every place where a value may stand.
func holders[T any](o content.Of[T]) map[string]any {
	type exported struct{ Field content.Of[T] }
	type unexported struct{ field content.Of[T] }
	type embedded struct{ content.Of[T] }
	type pointer struct{ field *content.Of[T] }
	type behind struct{ field any }
	return map[string]any{
		"bare":               o,
		"pointer":            &o,
		"exported field":     exported{o},
		"unexported field":   unexported{o},
		"pointer to struct":  &unexported{o},
		"embedded":           embedded{o},
		"pointer field":      pointer{&o},
		"interface field":    behind{o},
		"interface, deep":    behind{behind{unexported{o}}},
		"slice":              []content.Of[T]{o, o},
		"array":              [1]content.Of[T]{o},
		"slice of pointers":  []*content.Of[T]{&o},
		"map value":          map[string]content.Of[T]{"k": o},
		"map of interfaces":  map[string]any{"k": unexported{o}},
		"slice in an struct": struct{ s []content.Of[T] }{[]content.Of[T]{o}},
		"reflected":          reflect.ValueOf(o),
		"reflected field":    reflect.ValueOf(exported{o}).Field(0),
	}
}

// everyHolder calls f with every kind of content in every place.
func everyHolder(t *testing.T, f func(t *testing.T, v any)) {
	t.Helper()
	canary := contenttest.Canary
	kinds := map[string]map[string]any{
		"string":  holders(content.New(canary)),
		"bytes":   holders(content.New([]byte(canary))),
		"JSON":    holders(content.New(json.RawMessage(`"` + canary + `"`))),
		"struct":  holders(content.New(newLetter())),
		"pointer": holders(content.New(&canary)),
		"map":     holders(content.New(map[string]string{canary: canary})),
		"error":   holders(content.New[error](textError(canary))),
		"any":     holders(content.New[any](newLetter())),
		"content": holders(content.New(content.New(canary))),
	}
	for kind, places := range kinds {
		for place, v := range places {
			t.Run(kind+"/"+place, func(t *testing.T) { f(t, v) })
		}
	}
}

func checkOutput(t *testing.T, by, out string) {
	t.Helper()
	if form, found := contenttest.Find(out); found {
		t.Errorf("%s shows the content as %s: %s", by, form, out)
	}
}

const verbs = "vTtbcdoOqxXUeEfFgGspwz"

func TestNoVerbShowsContent(t *testing.T) {
	everyHolder(t, func(t *testing.T, v any) {
		for _, verb := range verbs {
			for _, flags := range []string{"", "+", "#", " ", "-", "0", "+#", "# ", "40", ".3", "+40.3"} {
				format := "%" + flags + string(verb)
				checkOutput(t, format, fmt.Sprintf(format, v))
			}
		}
		checkOutput(t, "Sprint", fmt.Sprint(v))
		checkOutput(t, "Sprintln", fmt.Sprintln(v, v))
		for _, wrong := range []string{"", "%[9]d", "%*d", "%!", "%"} {
			checkOutput(t, "the wrong format "+wrong, fmt.Sprintf(wrong, v, v))
		}
		checkOutput(t, "Errorf", fmt.Errorf("failed: %w", fmt.Errorf("%v", v)).Error())
	})
}

// The verbs would show a bare value: without this the matrix could be blind.
func TestVerbsShowWhatIsNotContent(t *testing.T) {
	for _, v := range []any{contenttest.Canary, newLetter(), struct{ p any }{textError(contenttest.Canary)}} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%z"} {
			if out := fmt.Sprintf(format, v); !strings.Contains(out, "%!") {
				if _, found := contenttest.Find(out); !found {
					t.Errorf("%s of %T: not found in %s", format, v, out)
				}
			}
		}
	}
}

func TestPrintsAsAMark(t *testing.T) {
	const want = "[content]"
	for _, o := range []content.Of[string]{content.New("hello"), content.New(""), {}} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%9.2f"} {
			if got := fmt.Sprintf(format, o); got != want {
				t.Errorf("%s: got %s, want %s", format, got, want)
			}
		}
		for by, got := range map[string]string{"String": o.String(), "GoString": o.GoString(), "LogValue": o.LogValue().String()} {
			if got != want {
				t.Errorf("%s: got %s, want %s", by, got, want)
			}
		}
	}
}

func TestNoLoggerOrTemplateShowsContent(t *testing.T) {
	everyHolder(t, func(t *testing.T, v any) {
		var out bytes.Buffer
		for _, logger := range []*slog.Logger{slog.New(slog.NewTextHandler(&out, nil)), slog.New(slog.NewJSONHandler(&out, nil))} {
			logger.Info("m", "k", v)
			logger.With("k", v).WithGroup("g").Info("m", slog.Any("k", []any{v}))
		}
		log.New(&out, "", 0).Print(v)
		_ = texttemplate.Must(texttemplate.New("").Parse("{{.}} {{printf `%#v` .}}")).Execute(&out, v)
		_ = template.Must(template.New("").Parse("<a title='{{.}}'>{{.}}</a><script>x = {{.}}</script>")).Execute(&out, v)
		checkOutput(t, "a logger or template", out.String())
	})
}

func TestNoEncoderShowsContent(t *testing.T) {
	encoders := map[string]func(*bytes.Buffer, any) error{
		"json": func(b *bytes.Buffer, v any) error { return json.NewEncoder(b).Encode(v) },
		"xml":  func(b *bytes.Buffer, v any) error { return xml.NewEncoder(b).Encode(v) },
		"gob":  func(b *bytes.Buffer, v any) error { return gob.NewEncoder(b).Encode(v) },
	}
	for name, encode := range encoders {
		t.Run(name, func(t *testing.T) {
			everyHolder(t, func(t *testing.T, v any) {
				if _, reflected := v.(reflect.Value); reflected {
					return // no encoder takes one for what it reflects
				}
				var out bytes.Buffer
				if err := encode(&out, v); err != nil {
					checkOutput(t, "the error", err.Error())
				}
				checkOutput(t, "the output", out.String())
			})
		})
	}
}

func TestEveryEncoderRefuses(t *testing.T) {
	type document struct {
		Text content.Of[string]
	}
	type attribute struct {
		Text content.Of[string] `xml:",attr"`
	}
	doc := document{content.New("hello")}
	var out bytes.Buffer
	_, jsonErr := json.Marshal(doc)
	_, keyErr := json.Marshal(map[string]any{"k": []any{&doc}})
	_, yamlErr := doc.Text.MarshalYAML()
	_, textErr := encoding.TextMarshaler(doc.Text).MarshalText()
	_, binaryErr := encoding.BinaryMarshaler(doc.Text).MarshalBinary()
	_, askedJSONErr := json.Marshaler(doc.Text).MarshalJSON() // by whoever has an encoder of their own
	_, askedGobErr := gob.GobEncoder(doc.Text).GobEncode()
	for name, err := range map[string]error{
		"json":        jsonErr,
		"json, deep":  keyErr,
		"xml":         xml.NewEncoder(&out).Encode(doc),
		"xml, attr":   xml.NewEncoder(&out).Encode(attribute(doc)),
		"gob":         gob.NewEncoder(&out).Encode(doc),
		"yaml":        yamlErr,
		"text":        textErr,
		"binary":      binaryErr,
		"json, asked": askedJSONErr,
		"gob, asked":  askedGobErr,
	} {
		if !errors.Is(err, content.ErrEncoded) {
			t.Errorf("%s: got %v, want ErrEncoded", name, err)
		}
	}
}

func TestEveryDecoderRefuses(t *testing.T) {
	type document struct {
		Text content.Of[string]
	}
	var wire bytes.Buffer
	if err := gob.NewEncoder(&wire).Encode(struct{ Text opaque }{opaque(contenttest.Canary)}); err != nil {
		t.Fatal(err)
	}
	var doc document
	for name, err := range map[string]error{
		"json":       json.Unmarshal([]byte(`{"Text":"`+contenttest.Canary+`"}`), &doc),
		"json, null": json.Unmarshal([]byte(`{"Text":null}`), &doc),
		"xml":        xml.Unmarshal([]byte(`<document><Text>`+contenttest.Canary+`</Text></document>`), &doc),
		"gob":        gob.NewDecoder(&wire).Decode(&doc),
		"yaml":       doc.Text.UnmarshalYAML(func(any) error { return nil }),
		"text":       encoding.TextUnmarshaler(&doc.Text).UnmarshalText(nil),
		"binary":     encoding.BinaryUnmarshaler(&doc.Text).UnmarshalBinary(nil),
	} {
		if !errors.Is(err, content.ErrDecoded) {
			t.Errorf("%s: got %v, want ErrDecoded", name, err)
		}
		if err != nil {
			checkOutput(t, name, err.Error())
		}
	}
	if !doc.Text.IsZero() {
		t.Error("a decoder put something in")
	}
}

// opaque is what a foreign program may have sent where content is read.
type opaque string

func (o opaque) GobEncode() ([]byte, error) { return []byte(o), nil }
