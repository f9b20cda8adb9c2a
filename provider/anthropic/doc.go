// Package anthropic asks models through Anthropic's Messages API.
//
//	c, err := anthropic.New(anthropic.Config{
//		Name:         provider.MustName("backup"),
//		Model:        "claude-haiku-4-5",
//		Key:          content.New(key),
//		Capabilities: provider.CapabilitiesOf(provider.JSONSchema, provider.Streaming),
//	})
//
// A request with an output schema asks for it in output_config.format, when the configuration says [provider.JSONSchema]
// and the schema is within the subset that the API enforces: objects closed, no bounds on numbers, texts or lists. The API
// refuses any other schema with a 400, so then the prompt alone must ask; the step validates the answer in any case. The
// API has no mode for JSON without a schema and no seed: [provider.JSONMode] changes nothing, and Params.Seed is not sent.
//
// Input tokens include those written to and read from the prompt cache. Thinking is not part of an answer, and is no token
// to the timers.
package anthropic
