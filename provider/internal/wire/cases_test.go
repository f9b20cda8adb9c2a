package wire_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fourfold/internal/faultserver"
)

// wireCase is one file entry of testdata/cases: what a provider does at the wire, and what must come of it.
type wireCase struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	API    string `json:"api"` // empty: openai
	Stream bool   `json:"stream"`
	Text   bool   `json:"text"` // free text is asked for, and not JSON

	TotalMS      int  `json:"total_ms"` // the timers of the provider; 0: none
	FirstTokenMS int  `json:"first_token_ms"`
	IdleMS       int  `json:"idle_ms"`
	Abort        bool `json:"abort"` // the caller's context ends while the call is under way

	Answer caseAnswer `json:"answer"`
	Want   caseWant   `json:"want"`
}

type caseAnswer struct {
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers"`
	Body       json.RawMessage   `json:"body"` // a text is sent as it is, anything else as JSON
	Events     []json.RawMessage `json:"events"`
	EOL        string            `json:"eol"`
	Mode       string            `json:"mode"` // a faultserver.Mode, or "refuse"
	PauseMS    int               `json:"pause_ms"`
	IntervalMS int               `json:"interval_ms"`
	Size       int               `json:"size"`
	Ping       string            `json:"ping"`
}

type caseWant struct {
	Outcome string `json:"outcome"` // empty: none
	Kind    string `json:"kind"`
	Reason  string `json:"reason"`
	Class   string `json:"class"`
	Next    bool   `json:"next"`  // another provider is asked in the same attempt
	Again   bool   `json:"again"` // the provider may be asked in another attempt
	Status  int    `json:"status"`

	RetryAfterMS     *float64 `json:"retry_after_ms"`
	RetryAfterMostMS float64  `json:"retry_after_most_ms"` // for dates, which are as coarse as a second
	Usage            []int64  `json:"usage"`               // input, output
	NoUsage          bool     `json:"no_usage"`
	Model            string   `json:"model"`
	Value            string   `json:"value"` // of the answer; empty: the usual one
	Left             bool     `json:"left"`  // the server sees that the client goes
}

// usualValue is what the good answers of the cases say.
const usualValue = `{"label":"content","confidence":0.9}`

func loadCases(t *testing.T) []wireCase {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var all []wireCase
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var some []wireCase
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&some); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		theme := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, c := range some {
			c.Name = theme + "/" + c.Name
			all = append(all, c)
		}
	}
	return all
}

// answer makes what the fault server sends.
func (c wireCase) answer(t *testing.T) faultserver.Answer {
	t.Helper()
	a := faultserver.Answer{
		Status: c.Answer.Status, Headers: map[string]string{}, Mode: faultserver.Mode(c.Answer.Mode),
		Pause: ms(c.Answer.PauseMS), Interval: ms(c.Answer.IntervalMS), Size: c.Answer.Size, Ping: c.Answer.Ping,
	}
	if c.Answer.Mode == "refuse" || c.Answer.Mode == "normal" {
		a.Mode = faultserver.Normal
	}
	a.Headers["Content-Type"] = "application/json"
	if c.Answer.Events != nil {
		a.Headers["Content-Type"] = "text/event-stream"
		a.Chunks = []string{}
		for _, e := range c.Answer.Events {
			a.Chunks = append(a.Chunks, c.event(t, e))
		}
	}
	for name, value := range c.Answer.Headers {
		a.Headers[name] = strings.ReplaceAll(value, "{{now+2s}}", time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat))
	}
	a.Body = string(c.Answer.Body)
	var text string
	if json.Unmarshal(c.Answer.Body, &text) == nil {
		a.Body = text
	}
	return a
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// caseEvent is one event of a stream. Delta, Finish and Usage are chunks of OpenAI's; the text "done" is its mark.
type caseEvent struct {
	Delta  json.RawMessage `json:"delta"`
	Finish string          `json:"finish"`
	Usage  []int64         `json:"usage"`
	Bytes  int             `json:"bytes"` // a delta with so many bytes of text
	Event  string          `json:"event"`
	Data   json.RawMessage `json:"data"`
	Raw    *string         `json:"raw"` // sent as it is
}

func (c wireCase) event(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var e caseEvent
	if string(raw) == `"done"` {
		return c.framed("", "[DONE]")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		t.Fatalf("%s: event: %v", c.Name, err)
	}
	const head = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-2026-01-01","choices":[`
	chunk := func(delta, finish string) string {
		return c.framed("", head+`{"index":0,"delta":`+delta+`,"finish_reason":`+finish+`}]}`)
	}
	switch {
	case e.Raw != nil:
		return *e.Raw
	case e.Delta != nil:
		return chunk(compact(t, e.Delta), "null")
	case e.Bytes > 0:
		return chunk(`{"content":"`+strings.Repeat("x", e.Bytes)+`"}`, "null")
	case e.Finish != "":
		return chunk("{}", `"`+e.Finish+`"`)
	case e.Usage != nil:
		usage, _ := json.Marshal(map[string]int64{"prompt_tokens": e.Usage[0], "completion_tokens": e.Usage[1]})
		return c.framed("", head+`],"usage":`+string(usage)+`}`)
	}
	return c.framed(e.Event, compact(t, e.Data))
}

func (c wireCase) framed(event, data string) string {
	eol := c.Answer.EOL
	if eol == "" {
		eol = "\n"
	}
	if event != "" {
		return "event: " + event + eol + "data: " + data + eol + eol
	}
	return "data: " + data + eol + eol
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
