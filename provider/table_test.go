package provider_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fourfold/executor"
	"fourfold/provider"
)

// says writes a verdict as one line: kind[/reason] next again class.
func says(e provider.Error) string {
	f := e.Failure()
	if want := map[bool]executor.Retry{true: executor.RetryYes, false: executor.RetryNo}[e.NextAttempt()]; f.Retry != want {
		return fmt.Sprintf("NextAttempt is %t and Retry is %d", e.NextAttempt(), f.Retry)
	}
	yes := map[bool]string{true: "yes", false: "no"}
	kind := e.Kind().String()
	if e.Reason() != provider.ReasonNone {
		kind += "/" + e.Reason().String()
	}
	return fmt.Sprintf("%s next:%s again:%s %s", kind, yes[e.NextProvider()], yes[e.NextAttempt()], f.Class)
}

const (
	transient   = "provider_error next:yes again:yes upstream-4xx"
	noAnswer    = "provider_error next:yes again:yes parse"
	serverError = "provider_error next:yes again:yes upstream-5xx"
	noMoney     = "provider_error/quota next:yes again:no upstream-4xx"
	rateLimit   = "rate_limit next:yes again:yes upstream-4xx"
	noQuota     = "rate_limit/quota next:yes again:no upstream-4xx"
	auth        = "auth next:no again:no upstream-4xx"
	noModel     = "model_unavailable next:yes again:no upstream-4xx"
	invalid     = "invalid_request next:no again:no upstream-4xx"
	tooLong     = "invalid_request/context_length next:no again:no upstream-4xx"
	filtered    = "invalid_request/content_filter next:no again:no upstream-4xx"
	noParam     = "invalid_request/unsupported_param next:no again:no upstream-4xx"
	broken      = "network next:yes again:yes upstream-5xx"
)

func TestEveryEventHasItsVerdict(t *testing.T) {
	want := map[provider.Seen]string{
		provider.SeenNetwork:           broken,
		provider.SeenCut:               broken,
		provider.SeenTimeout:           "network/timeout next:yes again:yes timeout",
		provider.SeenFirstTokenTimeout: "network/first_token_timeout next:yes again:yes timeout",
		provider.SeenIdleTimeout:       "network/idle_timeout next:yes again:yes timeout",
		provider.SeenAborted:           "network/aborted next:no again:no timeout",
		provider.SeenNoAnswer:          noAnswer,
		provider.SeenOversize:          noAnswer,
		provider.SeenMalformedEvent:    "network next:yes again:yes parse",
		provider.SeenEmpty:             "output_validation/empty next:no again:yes parse",
		provider.SeenNotJSON:           "output_validation/not_json next:no again:yes parse",
		provider.SeenMalformedToolCall: "output_validation/tool_calls next:no again:yes parse",
		provider.SeenTruncated:         "output_validation/truncated next:no again:no parse",
		provider.SeenRefusal:           "output_validation/refusal next:no again:no schema",
		provider.SeenContentFilter:     "output_validation/content_filter next:no again:no schema",
		provider.SeenToolCalls:         "output_validation/tool_calls next:no again:no schema",
		provider.SeenSchemaViolation:   "output_validation/schema next:no again:no schema",
		provider.SeenBreakerOpen:       "provider_error/breaker_open next:yes again:yes upstream-5xx",
		provider.SeenClosed:            "rate_limit/breaker_open next:yes again:yes upstream-4xx",
		provider.SeenIncapable:         "invalid_request/capability next:no again:no upstream-4xx",
		provider.SeenStatus:            serverError, // without a status nothing is known
		provider.SeenInBand:            serverError,
	}
	got := map[provider.Seen]string{}
	for seen := provider.SeenStatus; seen.String() != "invalid"; seen++ {
		got[seen] = says(provider.Judge(provider.Signal{Seen: seen}))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// bareStatus is the table by status alone, as the design has it.
func bareStatus(status int) string {
	switch {
	case status < 300:
		return noAnswer
	case status < 400:
		return "provider_error next:yes again:no upstream-5xx"
	case status >= 500:
		return serverError
	}
	for answer, statuses := range map[string][]int{
		auth: {401, 403, 407}, noMoney: {402}, noModel: {404, 410}, transient: {408, 409, 425, 499}, rateLimit: {429},
	} {
		for _, s := range statuses {
			if s == status {
				return answer
			}
		}
	}
	return invalid
}

func TestEveryStatusHasItsVerdict(t *testing.T) {
	for status := 100; status <= 999; status++ {
		for _, body := range []string{"", "<html>gateway</html>", `{"error":{"message":"x","type":null,"code":null}}`, `{"error":{"mess`} {
			e := provider.Judge(provider.FromHTTP(status, http.Header{}, []byte(body), time.Time{}))
			if got, want := says(e), bareStatus(status); got != want || e.Status() != status {
				t.Errorf("%d with %q: %s, want %s", status, body, got, want)
			}
		}
	}
}

func TestCodesAreBelievedAtEveryClientErrorAndNowhereElse(t *testing.T) {
	at := func(codes map[int]string, usual string) func(int) string {
		return func(status int) string {
			if special, ok := codes[status]; ok {
				return special
			}
			return usual
		}
	}
	only := func(want string, statuses ...int) func(int) string {
		return func(status int) string {
			for _, s := range statuses {
				if s == status {
					return want
				}
			}
			return bareStatus(status)
		}
	}
	for codes, want := range map[string]func(int) string{
		"insufficient_quota quota_exceeded billing_error insufficient_balance PerDay":     at(map[int]string{429: noQuota}, noMoney),
		"model_not_found model_decommissioned DeploymentNotFound unknown_model":           at(nil, noModel),
		"invalid_api_key API_KEY_INVALID authentication_error UNAUTHENTICATED":            at(nil, auth),
		"context_length_exceeded exceed_context_size_error":                               at(nil, tooLong),
		"content_filter content_policy_violation ResponsibleAIPolicyViolation":            at(nil, filtered),
		"unsupported_parameter unsupported_value unknown_parameter":                       at(nil, noParam),
		"server_error api_error overloaded_error":                                         only(transient, 400, 403),
		"invalid_request_error permission_error not_found_error INVALID_ARGUMENT nobody":  bareStatus,
		"tokens requests BadRequestError value_error.missing conflict_error model_x plan": bareStatus,
		"rate_limit_exceeded too_many_requests rate_limit_error RESOURCE_EXHAUSTED": func(status int) string {
			if status == 413 { // larger than a whole minute's allowance
				return "rate_limit next:yes again:no upstream-4xx"
			}
			return only(rateLimit, 400, 403)(status)
		},
	} {
		for code := range strings.FieldsSeq(codes) {
			for status := 300; status <= 599; status++ {
				expect := bareStatus(status)
				if status >= 400 && status <= 499 {
					expect = want(status)
				}
				bodies := []string{`{"error":{"code":%q}}`, `{"error":{"type":%q,"code":null}}`, `{"type":"error","error":{"type":%q}}`, `{"code":%q}`}
				for _, body := range bodies[status%4 : status%4+1] { // each body at every fourth status
					signal := provider.FromHTTP(status, http.Header{}, fmt.Appendf(nil, body, code), time.Time{})
					if got := says(provider.Judge(signal)); got != expect {
						t.Fatalf("%d %s: %s, want %s", status, fmt.Sprintf(body, code), got, expect)
					}
				}
			}
		}
	}
}

func TestTextMarkersDecideOnlyWhereNoCodeDoes(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{400, `{"error":{"type":"invalid_request_error","message":"Access to Acme models is not allowed for this account"}}`, noModel},
		{403, `{"error":{"type":"server_error","message":"Upstream request failed: Model is unavailable."}}`, noModel},
		{403, `{"error":{"type":"server_error","message":"Upstream request failed"}}`, transient},
		{400, `{"error":{"message":"The model has been decommissioned"}}`, noModel},
		{400, `{"error":{"status":"FAILED_PRECONDITION","message":"User location is not supported for the API use."}}`, noModel},
		{404, `{"error":{"message":"Model not found"}}`, noModel},
		{400, `{"error":{"message":"API key not valid. Please pass one."}}`, auth},
		{400, `{"error":"Invalid API key"}`, auth},
		{400, `{"error":{"message":"You have reached your specified API usage limits. Come back later"}}`, noMoney},
		{400, `{"error":{"message":"Your credit balance is too low to do this"}}`, noMoney},
		{403, `{"message":"monthly spend limit reached"}`, noMoney},
		{429, `{"error":{"message":"Limit of requests per day reached","code":"rate_limit_exceeded"}}`, noQuota},
		{429, `{"error":{"message":"Rate limit exceeded: free-models-per-day"}}`, noQuota},
		{429, `{"error":{"message":"Insufficient balance"}}`, noQuota},
		{429, `{"error":{"message":"You exceeded your current quota"}}`, rateLimit}, // one provider says that of a minute, too
		{400, `{"message":"The input (33077 tokens) is longer than the model's context length (32768 tokens)."}`, tooLong},
		{400, `{"error":{"message":"prompt is too long: 210000 tokens"}}`, tooLong},
		{413, `{"error":{"message":"prompt is too long"}}`, tooLong},
		{400, `{"error":{"message":"The input token count exceeds the maximum number of tokens allowed"}}`, tooLong},
		{400, `{"error":{"message":"rejected as a result of our safety system"}}`, filtered},
		{400, `{"error":{"message":"triggers the content management policy"}}`, filtered},
		{403, `{"error":{"message":"requires moderation, and your input was flagged"}}`, filtered},
		{400, `{"error":{"message":"This model does not support response format","param":"response_format"}}`, noParam},
		{422, `{"detail":[{"loc":["body"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}`, noParam},
		{422, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"value_error.missing"}]}`, invalid},
		{400, `{"error":"model requires more system memory"}`, invalid},
		{400, `{"error":{"code":"context_length_exceeded","message":"invalid api key"}}`, tooLong}, // codes before texts
		{401, `{"error":{"message":"model is unavailable"}}`, auth},
		{500, `{"error":{"message":"context length, invalid api key, per day"}}`, serverError},
		{408, `{"error":{"message":"model not found"}}`, transient},
	} {
		if got := says(provider.Judge(provider.FromHTTP(c.status, http.Header{}, []byte(c.body), time.Time{}))); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.status, c.body, got, c.want)
		}
	}
}

func TestErrorObjectsInAnAnswerAreJudgedByWhatTheySay(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"error":{"message":"upstream failed","code":502}}`, "status 502 " + serverError},
		{`{"id":null,"choices":null,"error":{"message":"Provider returned error","code":429}}`, "status 429 " + rateLimit},
		{`{"error":{"code":"429"}}`, "status 429 " + rateLimit},
		{`{"error":{"code":402,"message":"x"}}`, "status 402 " + noMoney},
		{`{"type":"error","error":{"type":"too_many_requests","code":"rate_limit_exceeded"}}`, "status 429 " + rateLimit},
		{`{"error":{"type":"rate_limit"}}`, "status 429 " + rateLimit},
		{`{"error":{"type":"insufficient_quota"}}`, "status 429 " + noQuota},
		{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "status 529 " + serverError},
		{`{"type":"error","error":{"type":"api_error"}}`, "status 500 " + serverError},
		{`{"type":"error","error":{"type":"authentication_error"}}`, "status 401 " + auth},
		{`{"type":"error","error":{"type":"permission_error"}}`, "status 403 " + auth},
		{`{"type":"error","error":{"type":"invalid_request_error"}}`, "status 400 " + invalid},
		{`{"type":"error","error":{"type":"not_found_error"}}`, "status 404 " + noModel},
		{`{"type":"error","error":{"type":"timeout_error"}}`, "status 504 " + serverError},
		{`{"error":{"code":503,"status":"UNAVAILABLE","message":"x"}}`, "status 503 " + serverError},
		{`[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]`, "status 429 " + rateLimit},
		{`{"error":{"code":"model_not_found"}}`, "status 0 " + noModel},
		{`{"error":{"code":"context_length_exceeded"}}`, "status 0 " + tooLong},
		{`{"error":{"code":7,"status":"503"}}`, "status 503 " + serverError},
		{`{"error":{"code":429},"status":500}`, "status 429 " + rateLimit},
		{`{"error":"something"}`, "status 0 " + serverError},
		{`{"error":true,"message":"x"}`, "status 0 " + serverError},
		{`{"error":{"type":"novel_error","code":7}}`, "status 0 " + serverError},
		{`{"object":"error","message":"x","code":400,"type":"BadRequestError"}`, "status 400 " + invalid},
		{`{"html-message":"Network connection lost."}`, "none"},
		{`{"error":null,"choices":[]}`, "none"},
		{`{"error":{},"choices":[]}`, "none"},
		{`{"choices":[{"message":{"content":"{\"error\":1}"}}]}`, "none"},
		{`{"error":{"code":5`, "none"},
		{``, "none"},
	} {
		got := "none"
		if s, ok := provider.FromInBand([]byte(c.body)); ok {
			e := provider.Judge(s)
			got = fmt.Sprintf("status %d %s", e.Status(), says(e))
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
}

// everySignal yields signals of every event, status and a code of each group.
func everySignal(yield func(provider.Signal) bool) {
	for seen := provider.SeenStatus; seen.String() != "invalid"; seen++ {
		for status := range 601 {
			for _, code := range []string{"", "insufficient_quota", "model_not_found", "rate_limit", "server_error"} {
				s := provider.Signal{Provider: provider.MustName("primary"), Seen: seen, Status: status}
				if code != "" {
					s.Codes = []string{code}
				}
				if !yield(s) {
					return
				}
				if seen != provider.SeenStatus && seen != provider.SeenInBand {
					break
				}
			}
		}
	}
}

func TestAfterTheFirstTokenNobodyElseIsAskedAndNothingElseChanges(t *testing.T) {
	for s := range everySignal {
		before := provider.Judge(s)
		s.AfterFirstToken = true
		after := provider.Judge(s)
		if after.NextProvider() || after.NextAttempt() != before.NextAttempt() || after.Error() != before.Error() ||
			after.Failure().Class != before.Failure().Class {
			t.Fatalf("%v: %s, before the first token %s", s, says(after), says(before))
		}
	}
}

func TestShouldRetryFalseForbidsAnotherAttemptAndNothingElse(t *testing.T) {
	for s := range everySignal {
		if s.Seen != provider.SeenStatus {
			continue
		}
		before := provider.Judge(s)
		s.NoRetry = true
		after := provider.Judge(s)
		if after.NextAttempt() || after.NextProvider() != before.NextProvider() || after.Error() != before.Error() ||
			after.Failure().Class != before.Failure().Class {
			t.Fatalf("%v: %s, without the header %s", s, says(after), says(before))
		}
	}
	h := http.Header{"X-Should-Retry": {"false"}}
	if got := says(provider.Judge(provider.FromHTTP(503, h, nil, time.Time{}))); got != "provider_error next:yes again:no upstream-5xx" {
		t.Error(got)
	}
	h.Set("X-Should-Retry", "true") // says no more than the status does
	if got := says(provider.Judge(provider.FromHTTP(400, h, nil, time.Time{}))); got != invalid {
		t.Error(got)
	}
}

func TestEveryVerdictHasAKindAndAClass(t *testing.T) {
	for s := range everySignal {
		if e := provider.Judge(s); e.Kind() == provider.KindNone || e.Failure().Class == executor.ClassNone || e.Provider() != s.Provider {
			t.Fatalf("%v: %s", s, says(e))
		}
	}
}
