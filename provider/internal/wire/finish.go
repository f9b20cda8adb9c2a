package wire

import "strings"

// finishes is what the APIs' words for the end of an answer mean, in lower case. A word that is not here is a plain stop:
// servers invent names for it (eos, end_turn, completed), seldom for anything else.
var finishes = map[string]Finish{
	"": Unfinished, "null": Unfinished, "finish_reason_unspecified": Unfinished,

	"length": Truncated, "max_tokens": Truncated, "max_output_tokens": Truncated, "model_length": Truncated,
	"model_context_window_exceeded": Truncated,

	"content_filter": Filtered, "content_filtered": Filtered, "safety": Filtered, "recitation": Filtered, "blocklist": Filtered,
	"prohibited_content": Filtered, "spii": Filtered, "language": Filtered, "image_safety": Filtered, "sensitive": Filtered,
	"guardrail_intervened": Filtered,

	"refusal": Refused,

	"tool_calls": ToolCalls, "function_call": ToolCalls, "tool_use": ToolCalls, "pause_turn": ToolCalls,

	"malformed_function_call": Garbled, "unexpected_tool_call": Garbled, "malformed_response": Garbled,

	"error": Errored, "other": Errored, "abort": Errored, "cancelled": Errored, "network_error": Errored,
	"insufficient_system_resource": Errored,
}

// FinishOf reads an API's word for why a model stopped.
func FinishOf(word string) Finish {
	f, known := finishes[strings.ToLower(word)]
	if !known {
		return Stopped
	}
	return f
}
