package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"fourfold/content"
	"fourfold/provider"
	"fourfold/provider/openai"
)

// A server that speaks the protocol: a real one is named by its BaseURL, or by nothing, which is OpenAI.
func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"chat.completion","model":"m-2026-01-01","choices":[{"index":0,`+
			`"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`)
	}))
	defer server.Close()

	client, err := openai.New(openai.Config{
		Name:    provider.MustName("primary"),
		Model:   "m",
		BaseURL: server.URL + "/v1",
		Key:     content.New("sk-…"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := client.Complete(context.Background(), provider.Request{Prompt: content.New("Say hello.")})
	fmt.Println(answer.Text.Reveal(), answer.Model, answer.Usage, err)
	fmt.Println(answer.Text) // content shows itself to nobody
	// Output:
	// Hello. m-2026-01-01 input=5 output=2 <nil>
	// [content]
}
