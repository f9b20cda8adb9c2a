package content

// MarshalJSON returns [ErrEncoded]. So do the others: an encoder that asks a value how it wants to be
// written gets an error, and one that does not sees an unexported function.
func (o Of[T]) MarshalJSON() ([]byte, error) { return nil, ErrEncoded }

// MarshalText returns [ErrEncoded]. encoding/xml asks it, and encoding/json does for keys of maps.
func (o Of[T]) MarshalText() ([]byte, error) { return nil, ErrEncoded }

// MarshalBinary returns [ErrEncoded]. Redis clients ask it.
func (o Of[T]) MarshalBinary() ([]byte, error) { return nil, ErrEncoded }

// GobEncode returns [ErrEncoded].
func (o Of[T]) GobEncode() ([]byte, error) { return nil, ErrEncoded }

// MarshalYAML returns [ErrEncoded].
func (o Of[T]) MarshalYAML() (any, error) { return nil, ErrEncoded }

// UnmarshalJSON returns [ErrDecoded], for null too. So do the others.
func (o *Of[T]) UnmarshalJSON([]byte) error { return ErrDecoded }

// UnmarshalText returns [ErrDecoded].
func (o *Of[T]) UnmarshalText([]byte) error { return ErrDecoded }

// UnmarshalBinary returns [ErrDecoded].
func (o *Of[T]) UnmarshalBinary([]byte) error { return ErrDecoded }

// GobDecode returns [ErrDecoded].
func (o *Of[T]) GobDecode([]byte) error { return ErrDecoded }

// UnmarshalYAML returns [ErrDecoded].
func (o *Of[T]) UnmarshalYAML(func(any) error) error { return ErrDecoded }
