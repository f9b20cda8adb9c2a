// Package openai asks models through OpenAI's chat completions protocol, as OpenAI itself and the many servers speak it
// that took it over: Azure, OpenRouter, Groq, vLLM, Ollama, llama.cpp, Gemini's compatible endpoint, and others.
//
//	c, err := openai.New(openai.Config{
//		Name:         provider.MustName("primary"),
//		Model:        "gpt-4o-mini",
//		Key:          content.New(key),
//		Capabilities: provider.CapabilitiesOf(provider.JSONSchema, provider.Streaming),
//	})
//
// A request with an output schema asks for it in response_format, as far as the configured capabilities go: json_schema
// with [provider.JSONSchema], json_object with [provider.JSONMode], nothing otherwise; the prompt is never changed. The
// schema is sent as strict when it is within the subset that strict takes, because a strict schema outside it is refused
// with a 400; the step validates the answer in any case.
//
// The servers differ in small things. [Flavour] sets those that must be known beforehand; the rest is read leniently:
// content as a list of parts, errors in the body of a 200 or within a stream or a choice, keep-alive comments and blank
// lines, a finish reason of null on a whole answer, usage in the last event, in every event, under x_groq, or nowhere.
package openai
