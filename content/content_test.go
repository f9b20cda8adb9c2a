package content_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fourfold/content"
)

func TestRevealReturnsWhatNewTook(t *testing.T) {
	for name, got := range map[string]any{
		"text":         content.New("hello").Reveal(),
		"text, copied": func(o content.Of[string]) string { return o.Reveal() }(content.New("hello")),
	} {
		if got != "hello" {
			t.Errorf("%s: got %v, want hello", name, got)
		}
	}
	raw := json.RawMessage(`{"a":1}`)
	if got := content.New(raw).Reveal(); &got[0] != &raw[0] {
		t.Error("New copied the bytes")
	}
}

func TestZeroHoldsNothing(t *testing.T) {
	var zero content.Of[string]
	tests := []struct {
		name string
		of   content.Of[string]
		want bool
	}{
		{"zero", zero, true},
		{"empty text", content.New(""), false},
		{"text", content.New("hello"), false},
	}
	for _, tt := range tests {
		if got := tt.of.IsZero(); got != tt.want {
			t.Errorf("%s: IsZero() = %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := zero.Reveal(); got != "" {
		t.Errorf("Reveal() of zero = %q, want the zero value", got)
	}
}

func TestEqualLooksAtWhatIsHeld(t *testing.T) {
	var zero content.Of[[]string]
	one, same, other := content.New([]string{"a"}), content.New([]string{"a"}), content.New([]string{"b"})
	tests := []struct {
		name string
		a, b content.Of[[]string]
		want bool
	}{
		{"itself", one, one, true},
		{"same", one, same, true},
		{"other", one, other, false},
		{"zero and zero", zero, zero, true},
		{"zero and something", zero, one, false},
		{"something and zero", one, zero, false},
		{"zero and nothing held", zero, content.New[[]string](nil), false},
	}
	for _, tt := range tests {
		if got := tt.a.Equal(tt.b); got != tt.want {
			t.Errorf("%s: Equal() = %v, want %v", tt.name, got, tt.want)
		}
		if got := cmp.Equal(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: cmp.Equal() = %v, want %v", tt.name, got, tt.want)
		}
	}
}
