package executor

import (
	"fmt"
	"log/slog"
)

// Format writes the envelope, whatever the verb and flags.
func (h held[T]) Format(s fmt.State, _ rune) { _, _ = s.Write(h.appendText()) }

// String returns the envelope's [Envelope.String].
func (h held[T]) String() string { return string(h.appendText()) }

// GoString returns the envelope's [Envelope.String].
func (h held[T]) GoString() string { return string(h.appendText()) }

// LogValue returns the envelope's [Envelope.LogValue].
func (h held[T]) LogValue() slog.Value { return h.Envelope().LogValue() }

// MarshalJSON returns the envelope's [Envelope.MarshalJSON].
func (h held[T]) MarshalJSON() ([]byte, error) { return h.Envelope().MarshalJSON() }

// MarshalText returns the envelope's [Envelope.String]. XML and YAML encoders use it.
func (h held[T]) MarshalText() ([]byte, error) { return h.appendText(), nil }

// MarshalBinary returns the envelope's [Envelope.MarshalJSON]. Gob encoders use it.
func (h held[T]) MarshalBinary() ([]byte, error) { return h.Envelope().MarshalJSON() }

func (h held[T]) appendText() []byte { return h.Envelope().appendText(make([]byte, 0, 192)) }
