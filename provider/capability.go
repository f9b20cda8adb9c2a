package provider

import (
	"errors"
	"math/bits"
	"strings"
)

// Capability is something a provider can do and a step may require. The zero value is none.
type Capability uint8

// The capabilities.
const (
	JSONSchema  Capability = iota + 1 // answers that fit a schema given with the request
	JSONMode                          // answers that are JSON, without a schema
	Tools                             // tool calls
	Vision                            // images
	Streaming                         // answers token by token
	LongContext                       // prompts of more than about 100,000 tokens
)

var capabilityNames = []string{"none", "json_schema", "json_mode", "tools", "vision", "streaming", "long_context"}

// AllCapabilities returns every capability in order.
func AllCapabilities() []Capability { return values[Capability](capabilityNames) }

// ParseCapability reads what String prints. "none" is no capability.
func ParseCapability(s string) (Capability, error) {
	c, err := parseEnum[Capability]("capability", capabilityNames, s)
	if err == nil && c == 0 {
		err = errors.New("provider: unknown capability")
	}
	return c, err
}

// String returns the capability as flows and configurations write it, such as json_schema.
func (c Capability) String() string { return enumName(capabilityNames, c) }

// MarshalText returns what String prints, and an error for a value that is no capability.
func (c Capability) MarshalText() ([]byte, error) {
	return marshalEnum("capability", capabilityNames, c)
}

// UnmarshalText reads what MarshalText wrote.
func (c *Capability) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCapability(string(text))
	return err
}

// Capabilities is a set of capabilities. The zero value is empty.
type Capabilities uint64

// CapabilitiesOf returns the set of cs. Zero capabilities are left out.
func CapabilitiesOf(cs ...Capability) Capabilities {
	var set Capabilities
	for _, c := range cs {
		if c > 0 {
			set |= 1 << (c - 1)
		}
	}
	return set
}

// Has reports whether every capability of other is in c.
func (c Capabilities) Has(other Capabilities) bool { return c&other == other }

// Union returns what is in c or in other.
func (c Capabilities) Union(other Capabilities) Capabilities { return c | other }

// Lacking returns what of need is missing in c.
func (c Capabilities) Lacking(need Capabilities) Capabilities { return need &^ c }

// List returns the members in order; nil when there are none.
func (c Capabilities) List() []Capability {
	if c == 0 {
		return nil
	}
	list := make([]Capability, 0, bits.OnesCount64(uint64(c)))
	for ; c != 0; c &= c - 1 {
		list = append(list, Capability(bits.TrailingZeros64(uint64(c))+1))
	}
	return list
}

// String returns the members, joined by commas; empty when there are none.
func (c Capabilities) String() string {
	names := make([]string, 0, 8)
	for _, one := range c.List() {
		names = append(names, one.String())
	}
	return strings.Join(names, ",")
}

// MarshalText returns what String prints.
func (c Capabilities) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote; empty text is the empty set.
func (c *Capabilities) UnmarshalText(text []byte) error {
	*c = 0
	if len(text) == 0 {
		return nil
	}
	for name := range strings.SplitSeq(string(text), ",") {
		one, err := ParseCapability(name)
		if err != nil {
			return err
		}
		*c |= CapabilitiesOf(one)
	}
	return nil
}
