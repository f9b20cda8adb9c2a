package content

import "reflect"

// Equal reports whether o and p hold deeply equal values (see [reflect.DeepEqual]) or both nothing.
// It tells no more than yes or no.
func (o Of[T]) Equal(p Of[T]) bool {
	if o.IsZero() || p.IsZero() {
		return o.IsZero() == p.IsZero()
	}
	return reflect.DeepEqual(o.Reveal(), p.Reveal())
}
