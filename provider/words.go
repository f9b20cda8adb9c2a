package provider

import "slices"

// The codes and types by which providers and gateways name what went wrong, in lower case. They are matched whole.
var (
	quotaCodes = []string{
		"insufficient_quota", "quota_exceeded", "billing_hard_limit_reached", "billing_not_active", "billing_error",
		"insufficient_credits", "insufficient_balance", "insufficient_funds", "credit_balance_too_low", "spend_limit_reached",
		"perday", // as FromHTTP names a violated quota per day
	}
	modelCodes = []string{
		"model_not_found", "model_decommissioned", "model_deprecated", "model_not_available", "model_unavailable", "model_not_supported",
		"model_not_active", "unknown_model", "invalid_model", "unsupported_model", "no_such_model", "deploymentnotfound", "modelnotfound",
		"unavailable_model",
	}
	keyCodes = []string{
		"invalid_api_key", "api_key_invalid", "incorrect_api_key", "api_key_expired", "invalid_authentication", "authentication_error",
		"unauthenticated", "missing_api_key", "account_deactivated",
	}
	contextCodes = []string{
		"context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded", "exceed_context_size_error",
		"max_context_length_exceeded", "input_too_long",
	}
	filterCodes = []string{
		"content_filter", "content_filtered", "content_policy_violation", "responsibleaipolicyviolation", "moderation_blocked",
		"data_inspection_failed", "safety",
	}
	paramCodes = []string{
		"unsupported_parameter", "unsupported_value", "unknown_parameter", "unsupported_response_format", "not_supported_error",
	}
	rateCodes = []string{
		"rate_limit", "rate_limit_error", "rate_limit_exceeded", "ratelimitexceeded", "too_many_requests", "toomanyrequests",
		"resource_exhausted", "throttlingexception", "throttling", "requests_limit_exceeded", "tokens_limit_exceeded",
	}
	overloadCodes = []string{"overloaded_error", "overloaded", "engine_overloaded", "model_overloaded"}
	serverCodes   = []string{
		"server_error", "api_error", "internal_server_error", "internal_error", "internal", "upstream_error", "provider_error",
		"service_unavailable", "service_unavailable_error", "unavailable", "bad_gateway", "overloaded_error", "overloaded",
	}
)

// statuses says which HTTP status an error object means that names its type but no status.
var statuses = []struct {
	status int
	codes  []string
}{
	{429, rateCodes},
	{429, quotaCodes},
	{529, overloadCodes},
	{401, keyCodes},
	{402, []string{"payment_required"}},
	{403, []string{"permission_error", "permission_denied", "forbidden"}},
	{404, []string{"not_found_error", "not_found"}},
	{413, []string{"request_too_large"}},
	{503, []string{"service_unavailable", "service_unavailable_error", "unavailable", "unavailable_error"}},
	{504, []string{"timeout", "timeout_error", "deadline_exceeded", "gateway_timeout"}},
	{502, []string{"bad_gateway"}},
	{500, serverCodes},
	{400, []string{"invalid_request_error", "invalid_request", "invalid_argument", "failed_precondition", "bad_request", "badrequesterror"}},
}

// statusOf returns the status that the first code with a known one means; 0: none has.
func statusOf(codes []string) int {
	for _, code := range codes {
		for _, s := range statuses {
			if slices.Contains(s.codes, code) {
				return s.status
			}
		}
	}
	return 0
}

// The text markers: what is told by no code anywhere. The list is short on purpose; each entry is a case in the tests, and a text
// that matches none leaves the verdict to the status.
var (
	dailyTexts = []string{"per day", "per-day", "daily limit"}
	spendTexts = []string{
		"specified api usage limits", "credit balance is too low", "insufficient credits", "insufficient balance", "spend limit",
		"spending limit", "billing hard limit",
	}
	modelTexts = []string{
		"model is unavailable", "model is not available", "models is not allowed for this account", "model does not exist",
		"model not found", "has been decommissioned", "location is not supported",
	}
	keyTexts     = []string{"api key not valid", "api key invalid", "invalid api key", "incorrect api key", "api key expired"}
	contextTexts = []string{
		"context length", "context window", "maximum context", "context size", "prompt is too long", "input is too long",
		"maximum number of tokens",
	}
	filterTexts = []string{"content management policy", "content policy", "usage policies", "safety system", "input was flagged"}
	paramTexts  = []string{
		"does not support", "not supported", "unsupported", "unrecognized request argument", "extra inputs are not permitted",
	}
)
