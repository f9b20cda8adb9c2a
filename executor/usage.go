package executor

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

// ErrUsage is the error of decoding what is no token usage.
var ErrUsage = errors.New("executor: token usage is {\"input\":n,\"output\":n} with n of at least 0")

// Usage is the number of tokens paid for. The zero value is unknown, which is not the same as none:
// unknown is absent wherever it could be shown, never 0.
type Usage struct {
	known         bool
	input, output int64
}

// Tokens returns the known usage of input and output tokens. A negative number is no number of tokens:
// the usage is then unknown.
func Tokens(input, output int64) Usage {
	if input < 0 || output < 0 {
		return Usage{}
	}
	return Usage{true, input, output}
}

// Known reports whether the usage is known.
func (u Usage) Known() bool { return u.known }

// Input returns the number of tokens sent; 0 when unknown.
func (u Usage) Input() int64 { return u.input }

// Output returns the number of tokens received; 0 when unknown.
func (u Usage) Output() int64 { return u.output }

// IsZero reports whether the usage is unknown.
func (u Usage) IsZero() bool { return !u.known }

// Add returns the sum of both. Known and unknown is known: it is the least that was paid. Sums stop at
// the greatest int64.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.known || v.known, addTokens(u.input, v.input), addTokens(u.output, v.output)}
}

func addTokens(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// String returns "input=n output=n", or "unknown".
func (u Usage) String() string {
	if !u.known {
		return "unknown"
	}
	return "input=" + strconv.FormatInt(u.input, 10) + " output=" + strconv.FormatInt(u.output, 10)
}

type usageJSON struct {
	Input  *int64 `json:"input"`
	Output *int64 `json:"output"`
}

// MarshalJSON returns {"input":n,"output":n}, or null when unknown.
func (u Usage) MarshalJSON() ([]byte, error) {
	if !u.known {
		return []byte("null"), nil
	}
	return json.Marshal(usageJSON{&u.input, &u.output})
}

// UnmarshalJSON is the inverse of [Usage.MarshalJSON]. Both numbers are required. Error: [ErrUsage].
func (u *Usage) UnmarshalJSON(data []byte) error {
	*u = Usage{}
	if string(data) == "null" {
		return nil
	}
	var raw usageJSON
	if err := json.Unmarshal(data, &raw); err != nil {
		return ErrUsage
	}
	if raw.Input == nil || raw.Output == nil || *raw.Input < 0 || *raw.Output < 0 {
		return ErrUsage
	}
	*u = Tokens(*raw.Input, *raw.Output)
	return nil
}
