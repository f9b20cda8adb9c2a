package provider_test

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"fourfold/executor"
	"fourfold/provider"
)

// What a failed call means is decided in one place.
func ExampleJudge() {
	signal := provider.FromHTTP(429, http.Header{"Retry-After": {"2"}}, []byte(`{"error":{"code":"rate_limit_exceeded"}}`), time.Now())
	signal.Provider = provider.MustName("primary")
	err := provider.Judge(signal)

	fmt.Println(err)
	fmt.Println("next provider:", err.NextProvider(), "another attempt:", err.NextAttempt())
	failure := executor.Classify(err)
	fmt.Println(failure.Class, "after", failure.RetryAfter)
	limit, ok := errors.AsType[*provider.RateLimitError](err)
	fmt.Println(ok, limit.Provider())
	// Output:
	// provider primary: rate_limit status 429
	// next provider: true another attempt: true
	// upstream-4xx after 2s
	// true primary
}

// An answer's text is taken for one JSON value or for none.
func ExampleJSONValue() {
	primary := provider.MustName("primary")
	value, err := provider.JSONValue(primary, "Here you are:\n```json\n{\"kind\": \"invoice\"}\n```")
	fmt.Println(string(value), err)
	_, err = provider.JSONValue(primary, `{"kind": "inv`)
	fmt.Println(err)
	// Output:
	// {"kind": "invoice"} <nil>
	// provider primary: output_validation/not_json
}
