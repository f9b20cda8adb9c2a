package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"fourfold/internal/faultserver"
	"fourfold/provider"
	"fourfold/provider/providertest"
)

// speech is how one API says the few things that the conformance suite needs.
type speech struct {
	whole   string   // a text
	pieces  []string // the same text as a stream, one event each; the first shows a token
	empty   string   // an answer without a word
	refusal string   // an error's body, with %s in its message
}

var speeches = map[string]speech{
	"openai": {
		whole: goodBody, pieces: strings.SplitAfter(strings.TrimSuffix(goodStream, "data: [DONE]\n\n"), "\n\n")[:2],
		empty:   `{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`,
		refusal: `{"error":{"message":"%s","type":"x","code":null}}`,
	},
	"anthropic": {
		whole: `{"type":"message","model":"m-1","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}`,
		pieces: []string{
			"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n",
			"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		},
		empty:   `{"type":"message","content":[],"stop_reason":"end_turn"}`,
		refusal: `{"type":"error","error":{"type":"x","message":"%s"}}`,
	},
	"gemini": {
		whole: `{"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":"STOP"}],"modelVersion":"m-1"}`,
		pieces: []string{
			"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hello\"}]}}]}\n\n",
			"data: {\"candidates\":[{\"content\":{},\"finishReason\":\"STOP\"}],\"modelVersion\":\"m-1\"}\n\n",
		},
		empty:   `{"candidates":[{"content":{},"finishReason":"STOP"}]}`,
		refusal: `{"error":{"message":"%s","status":"X"}}`,
	},
}

func TestConformance(t *testing.T) {
	for api, says := range speeches {
		t.Run(api, func(t *testing.T) {
			providertest.Run(t, func(t *testing.T) providertest.Fixture { return fixture(t, api, says) })
		})
	}
}

func fixture(t *testing.T, api string, says speech) providertest.Fixture {
	t.Helper()
	behind := func(answer func(streamed bool) faultserver.Answer) provider.Client {
		s := serve(t, func(r faultserver.Request) faultserver.Answer {
			return answer(strings.Contains(r.Header.Get("Accept"), "event-stream"))
		})
		return newClient(t, api, "primary", s.URL())
	}
	always := func(a faultserver.Answer) provider.Client {
		return behind(func(bool) faultserver.Answer { return a })
	}
	refuses := func(status int) provider.Client {
		return always(faultserver.JSON(status, fmt.Sprintf(says.refusal, providertest.CanaryText)))
	}
	return providertest.Fixture{
		Answers: behind(func(streamed bool) faultserver.Answer {
			if streamed {
				return faultserver.Events(says.pieces...)
			}
			return faultserver.JSON(200, says.whole)
		}),
		Hangs:  always(faultserver.Answer{Mode: faultserver.HangBeforeHeaders}),
		Breaks: always(faultserver.Events(says.pieces[0]).With(faultserver.Reset)),
		Fails: map[provider.Kind]provider.Client{
			provider.KindNetwork:          always(faultserver.Answer{Mode: faultserver.ResetBeforeHeaders}),
			provider.KindRateLimit:        refuses(429),
			provider.KindAuth:             refuses(401),
			provider.KindInvalidRequest:   refuses(400),
			provider.KindModelUnavailable: refuses(404),
			provider.KindProviderError:    refuses(500),
			provider.KindOutputValidation: always(faultserver.JSON(200, says.empty)),
		},
	}
}
