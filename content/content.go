// Package content keeps text and values out of logs: content.Of prints as [content] whatever the verb,
// refuses every encoder, and gives its value only to Reveal.
package content

type Of[T any] struct{ p *T }

func New[T any](v T) Of[T] { return Of[T]{&v} }
func (o Of[T]) Reveal() T {
	if o.p == nil {
		var zero T
		return zero
	}
	return *o.p
}
func (o Of[T]) IsZero() bool   { return o.p == nil }
func (o Of[T]) String() string { return "[content]" }
