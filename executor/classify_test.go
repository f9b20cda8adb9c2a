package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"fourfold/executor"
)

// said is an error that knows its class.
type said struct{ f executor.Failure }

func (s *said) Error() string             { return "said" }
func (s *said) Failure() executor.Failure { return s.f }

// textError is an error that is nothing but content.
type textError string

func (e textError) Error() string { return string(e) }

// slow is a timeout of somebody's own making.
type slow struct{ timeout bool }

func (slow) Error() string   { return "slow" }
func (s slow) Timeout() bool { return s.timeout }

func jsonError(t *testing.T, data string, into any) error {
	t.Helper()
	err := json.Unmarshal([]byte(data), into)
	if err == nil {
		t.Fatalf("%s was decoded", data)
	}
	return err
}

func TestClassify(t *testing.T) {
	post := func(err error) error { return &url.Error{Op: "Post", URL: "http://127.0.0.1/", Err: err} }
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	_, unsupported := json.Marshal(make(chan int))
	_, badURL := url.Parse("http://a b/")
	const (
		timeout, parse, schema = executor.ClassTimeout, executor.ClassParse, executor.ClassSchema
		down, refused          = executor.ClassUpstream5xx, executor.ClassUpstream4xx
	)
	tests := []struct {
		name string
		err  error
		want executor.Failure // Err is err itself
	}{
		{"deadline", context.DeadlineExceeded, executor.Failure{Class: timeout}},
		{"deadline, wrapped", fmt.Errorf("call: %w", context.DeadlineExceeded), executor.Failure{Class: timeout}},
		{"deadline of a connection", dial(os.ErrDeadlineExceeded), executor.Failure{Class: timeout}},
		{"timeout of the client", post(context.DeadlineExceeded), executor.Failure{Class: timeout}},
		{"timeout of the kernel", dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)), executor.Failure{Class: timeout}},
		{"timeout of a name server", &net.DNSError{IsTimeout: true}, executor.Failure{Class: timeout}},
		{"timeout of one's own", slow{true}, executor.Failure{Class: timeout}},
		{"no timeout after all", slow{false}, executor.Failure{Class: parse}},

		{"JSON syntax", jsonError(t, `{"a":`, new(any)), executor.Failure{Class: parse}},
		{"JSON type", jsonError(t, `"a"`, new(int)), executor.Failure{Class: parse}},
		{"JSON target", jsonError(t, `1`, nil), executor.Failure{Class: parse}},
		{"JSON value", unsupported, executor.Failure{Class: parse}},
		{"cut while decoding", io.ErrUnexpectedEOF, executor.Failure{Class: parse}},
		{"end while decoding", io.EOF, executor.Failure{Class: parse}},

		{"refused", dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), executor.Failure{Class: down}},
		{"refused, through the client", post(dial(syscall.ECONNREFUSED)), executor.Failure{Class: down}},
		{"reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, executor.Failure{Class: down}},
		{"reset, bare", syscall.ECONNRESET, executor.Failure{Class: down}},
		{"broken pipe", fmt.Errorf("write: %w", syscall.EPIPE), executor.Failure{Class: down}},
		{"closed", net.ErrClosed, executor.Failure{Class: down}},
		{"connection ended before the answer", post(io.EOF), executor.Failure{Class: down}},
		{"connection cut in the answer", post(io.ErrUnexpectedEOF), executor.Failure{Class: down}},
		{"no such host", dial(&net.DNSError{IsNotFound: true}), executor.Failure{Class: down}},

		{"unknown", errors.New("unknown"), executor.Failure{Class: parse}},
		{"URL that is none", badURL, executor.Failure{Class: parse}},
		{"canceled by the attempt itself", post(context.Canceled), executor.Failure{Class: parse}},
		{"canceled by the attempt itself while dialing", post(dial(context.Canceled)), executor.Failure{Class: parse}},
		{"text about a schema", errors.New("schema violation 503 timeout"), executor.Failure{Class: parse}},

		{"failure", executor.Failure{Class: schema}, executor.Failure{Class: schema}},
		{"failure, wrapped", fmt.Errorf("step: %w", executor.Failure{Class: refused, Retry: executor.RetryYes, RetryAfter: time.Second}), executor.Failure{Class: refused, Retry: executor.RetryYes, RetryAfter: time.Second}},
		{"failing", &said{executor.Failure{Class: refused, RetryAfter: time.Minute}}, executor.Failure{Class: refused, RetryAfter: time.Minute}},
		{"failing, joined", errors.Join(errors.New("a"), &said{executor.Failure{Class: down, Retry: executor.RetryNo}}), executor.Failure{Class: down, Retry: executor.RetryNo}},
		{"the outermost says it", executor.Failure{Class: schema, Err: &said{executor.Failure{Class: down}}}, executor.Failure{Class: schema}},
		{"what it says wins over what it wraps", executor.Failure{Class: refused, Err: context.DeadlineExceeded}, executor.Failure{Class: refused}},
		{"override alone", executor.Failure{Retry: executor.RetryNo, Err: context.DeadlineExceeded}, executor.Failure{Class: timeout, Retry: executor.RetryNo}},
		{"override alone, of one who does not unwrap", &said{executor.Failure{Retry: executor.RetryNo, Err: context.DeadlineExceeded}}, executor.Failure{Class: timeout, Retry: executor.RetryNo}},
		{"override of nothing", executor.Failure{Retry: executor.RetryYes}, executor.Failure{Class: parse, Retry: executor.RetryYes}},
		{"no class", &said{}, executor.Failure{Class: parse}},
		{"no such class", executor.Failure{Class: 99}, executor.Failure{Class: parse}},
		{"negative pause", executor.Failure{Class: refused, RetryAfter: -time.Second}, executor.Failure{Class: refused}},
		{"panic", &executor.PanicError{Type: "string"}, executor.Failure{Class: parse, Retry: executor.RetryNo}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := executor.Classify(tt.err)
			if got.Err != tt.err && !errors.Is(got, tt.err) {
				t.Errorf("Err = %v, want the error itself", got.Err)
			}
			if got.Err = nil; got != tt.want {
				t.Errorf("got %s, retry %d after %v, want %s, retry %d after %v",
					got.Class, got.Retry, got.RetryAfter, tt.want.Class, tt.want.Retry, tt.want.RetryAfter)
			}
		})
	}
}

func TestClassifyOfNoErrorIsNoFailure(t *testing.T) {
	if got := executor.Classify(nil); got != (executor.Failure{}) {
		t.Errorf("got class %v", got.Class)
	}
}

// An error that names itself as its cause must not be asked for ever.
func TestClassifyOfAnErrorThatWrapsItself(t *testing.T) {
	self := &said{}
	self.f.Err = self
	if got := executor.Classify(self); got.Class != executor.ClassParse {
		t.Errorf("got %v, want parse", got.Class)
	}
}

func TestFailureSaysItsClassAlone(t *testing.T) {
	f := executor.Failure{Class: executor.ClassSchema, Err: textError("secret")}
	const want = "executor: attempt failed: schema"
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(format, f); got != want {
			t.Errorf("%s: got %s, want %s", format, got, want)
		}
	}
	if data, err := json.Marshal(f); string(data) != `"`+want+`"` {
		t.Errorf("JSON: got %s, %v", data, err)
	}
	if !errors.Is(f, textError("secret")) {
		t.Error("the cause cannot be found")
	}
}
