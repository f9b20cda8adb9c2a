// Package gemini asks models through Google's native Gemini API, generateContent and streamGenerateContent. (The same
// models also answer package openai, at Google's compatible endpoint; the native API says more about why it stopped.)
//
//	c, err := gemini.New(gemini.Config{
//		Name:         provider.MustName("third"),
//		Model:        "gemini-2.5-flash",
//		Key:          content.New(key),
//		Capabilities: provider.CapabilitiesOf(provider.JSONSchema, provider.Streaming),
//	})
//
// A request with an output schema is sent with responseMimeType application/json when the configuration says
// [provider.JSONMode] or [provider.JSONSchema], and with the schema as responseJsonSchema for the latter; the API ignores
// the words of it that it does not enforce. Thoughts count as output tokens, and are no part of an answer.
package gemini
