package content

import (
	"errors"
	"fmt"
	"log/slog"
)

// mark is what printers show instead of the value, also when there is none: whether there is one may
// be telling too.
const mark = "[content]"

// Errors of codecs, to be matched by [errors.Is]; encoders wrap them.
var (
	// ErrEncoded is the error of every encoder that meets an [Of].
	ErrEncoded = errors.New("content: refused to be encoded; Reveal is the one way out")
	// ErrDecoded is the error of every decoder that meets an [Of]. Decode the value and wrap it by
	// [New], where it is plain that the bytes are content.
	ErrDecoded = errors.New("content: refused to be decoded; New is the one way in")
)

// Of holds a value of type T that must not be shown. Only [New] makes one that holds something; the
// zero value holds nothing. Copies share the value, which nobody changes; an Of is safe for many
// goroutines as far as T is.
//
// An Of cannot be compared by ==; use Equal.
type Of[T any] struct {
	// A function, because printers call no method on unexported fields: an Of in somebody's unexported
	// field is printed by reflection, which sees nothing in a function but its address. A pointer
	// would not do: package fmt follows one when the verb is wrong, as %s is for a struct.
	reveal func() T
}

// New wraps v. It does not copy what v points to.
func New[T any](v T) Of[T] { return Of[T]{func() T { return v }} }

// Reveal returns the value, or the zero T if there is none. It is the one way out: whoever calls it
// answers for where the value goes. It must not go into a log, a metric, an error or a queue.
func (o Of[T]) Reveal() T {
	if o.reveal == nil {
		var zero T
		return zero
	}
	return o.reveal()
}

// IsZero reports whether o holds nothing. New of a zero T holds something.
func (o Of[T]) IsZero() bool { return o.reveal == nil }

// String returns "[content]".
func (o Of[T]) String() string { return mark }

// GoString returns "[content]".
func (o Of[T]) GoString() string { return mark }

// Format writes "[content]" whatever the verb and flags.
func (o Of[T]) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(mark)) }

// LogValue returns "[content]".
func (o Of[T]) LogValue() slog.Value { return slog.StringValue(mark) }
