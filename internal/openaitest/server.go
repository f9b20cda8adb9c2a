package openaitest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Server is the server; Start makes one.
type Server struct {
	URL string // base_url of a provider: http://127.0.0.1:port/v1

	t    TB
	mu   sync.Mutex
	rule []*rule
	wake chan struct{} // closed and replaced at every call, so that tests wait for calls and never sleep
	stop chan struct{}
}

type rule struct {
	word    string
	answers []Answer
	given   int // of these answers
	calls   []Call
}

// Call is one request as the server read it.
type Call struct {
	At     time.Time
	Model  string
	Prompt string          // all messages, joined by newlines
	Format json.RawMessage // response_format; nil: none asked for
	Stream bool
	Key    string // of the Authorization header
}

// TB is what is needed of a testing.TB; a program that is no test brings one of its own.
type TB interface {
	Helper()
	Cleanup(end func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start serves until the test ends.
func Start(t TB) *Server {
	t.Helper()
	s := &Server{t: t, wake: make(chan struct{}), stop: make(chan struct{})}
	web := httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = web.URL + "/v1"
	t.Cleanup(func() {
		close(s.stop)
		web.CloseClientConnections()
		web.Close()
	})
	return s
}

// On answers calls whose prompt holds word. A later On for the same word takes the place of the earlier one and keeps its count of calls.
func (s *Server) On(word string, answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rule {
		if r.word == word {
			r.answers, r.given = answers, 0
			return
		}
	}
	s.rule = append(s.rule, &rule{word: word, answers: answers})
}

// Calls is how often the rule of word was asked.
func (s *Server) Calls(word string) int { return len(s.Record(word)) }

// Record is what the rule of word was asked, in order.
func (s *Server) Record(word string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rule {
		if r.word == word {
			return append([]Call(nil), r.calls...)
		}
	}
	return nil
}

// Total is how often the server was asked at all.
func (s *Server) Total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.rule {
		n += len(r.calls)
	}
	return n
}

// Await waits until the rule of word was asked n times. It fails the test after five minutes, which only a hang reaches.
func (s *Server) Await(word string, n int) {
	s.t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		s.mu.Lock()
		wake := s.wake
		s.mu.Unlock()
		if s.Calls(word) >= n {
			return
		}
		select {
		case <-wake:
		case <-deadline:
			s.t.Fatalf("%q was asked %d times; want %d", word, s.Calls(word), n)
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/chat/completions" || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	var body struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
		Format json.RawMessage `json:"response_format"`
	}
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(data, &body)
	}
	if err != nil {
		http.Error(w, `{"error":{"type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	var texts []string
	for _, m := range body.Messages {
		texts = append(texts, m.Content)
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	call := Call{At: time.Now(), Model: body.Model, Prompt: strings.Join(texts, "\n"), Format: body.Format, Stream: body.Stream, Key: key}
	s.answer(call)(exchange{w: w, r: r, call: call, stop: s.stop})
}

// answer counts the call and picks what it gets.
func (s *Server) answer(call Call) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		close(s.wake)
		s.wake = make(chan struct{})
	}()
	for _, r := range s.rule {
		if strings.Contains(call.Prompt, r.word) {
			r.calls = append(r.calls, call)
			r.given++
			return r.answers[min(r.given, len(r.answers))-1]
		}
	}
	s.t.Errorf("openaitest: a call that no rule knows (%d bytes of prompt)", len(call.Prompt))
	return Status(http.StatusInternalServerError)
}
