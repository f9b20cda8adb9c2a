package provider

// Kind is what a provider did wrong. The zero value is none.
type Kind uint8

// The seven error kinds.
const (
	KindNone Kind = iota
	KindNetwork
	KindRateLimit
	KindAuth
	KindInvalidRequest
	KindModelUnavailable
	KindProviderError
	KindOutputValidation
)

// Reason narrows a kind down where operators act on the difference. The zero value is none.
type Reason uint8

// The reasons.
const (
	ReasonNone Reason = iota
	ReasonContextLength
	ReasonContentFilter
	ReasonUnsupportedParam
	ReasonQuota
	ReasonTruncated
	ReasonRefusal
	ReasonToolCalls
	ReasonNotJSON
	ReasonSchema
	ReasonEmpty
	ReasonTimeout
	ReasonFirstTokenTimeout
	ReasonIdleTimeout
	ReasonAborted
	ReasonCapability // nobody in the chain can do what the step requires
	ReasonBreakerOpen
)

// Name is a provider's name in the configuration: [a-z0-9][a-z0-9-]{0,62}.
type Name struct{ s string }

// ModelProvider is OpenTelemetry's gen_ai.provider.name of a provider, such as openai or anthropic.
type ModelProvider struct{ s string }

// Capability is something a provider can do and a step may require.
type Capability uint8

// The capabilities.
const (
	JSONSchema Capability = iota + 1
	JSONMode
	Tools
	Vision
	Streaming
	LongContext
)

// Capabilities is a set of capabilities. The zero value is empty.
type Capabilities uint64

func ParseName(s string) (Name, error)                   { return Name{s}, nil }
func MustName(s string) Name                             { return Name{s} }
func (n Name) String() string                            { return n.s }
func ParseModelProvider(s string) (ModelProvider, error) { return ModelProvider{s}, nil }
func (m ModelProvider) String() string                   { return m.s }
func ParseCapability(s string) (Capability, error)       { panic("unbuilt") }
func CapabilitiesOf(cs ...Capability) Capabilities       { panic("unbuilt") }
func (c Capabilities) Has(other Capabilities) bool       { return c&other == other }
func (k Kind) String() string                            { panic("unbuilt") } // network, rate_limit, ...; "none"
func (r Reason) String() string                          { panic("unbuilt") } // context_length, ...; "none"
func (c Capability) String() string                      { panic("unbuilt") } // json_schema, ...
