package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"
)

// Retry says whether another attempt may follow a failure.
type Retry uint8

// RetryByClass leaves it to the failure class (timeout, parse and upstream-5xx are retried); the other
// two win over the class, which is reported unchanged.
const (
	RetryByClass Retry = iota
	RetryYes
	RetryNo
)

// Failure is a classified failure of an attempt. It is an error, so that an attempt may return one
// to state its class itself. Its text is made of Class alone.
type Failure struct {
	Class      FailureClass  // none: as Classify judges Err
	Retry      Retry         // whether the budget may be spent on another attempt
	RetryAfter time.Duration // the least pause before it; zero or less: none asked for
	Err        error         // never printed; reached by errors.Is and errors.As; may be nil
}

// Error returns a text made of the class.
func (f Failure) Error() string { return "executor: attempt failed: " + f.Class.String() }

// Unwrap returns Err.
func (f Failure) Unwrap() error { return f.Err }

// Failure returns f: a failure knows its class.
func (f Failure) Failure() Failure { return f }

// Format writes the text of Error whatever the verb, so that Err is not printed by reflection.
func (f Failure) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, f.Error()) }

// MarshalText returns the text of Error, so that no encoder looks into Err.
func (f Failure) MarshalText() ([]byte, error) { return []byte(f.Error()), nil }

// Failing is implemented by errors that know their class (provider errors do).
type Failing interface {
	error
	Failure() Failure
}

// Classify judges the error of an attempt. It never returns a class of none for an error, nor a
// negative RetryAfter; Err is err itself, and nil gives the zero Failure. The rules, in their order:
//
//   - the outermost [Failing] in err's tree says its own Failure; where its Class is none, the rules
//     below judge its Err, and its Retry and RetryAfter stay;
//   - [context.DeadlineExceeded], [os.ErrDeadlineExceeded] and errors whose Timeout() says true: timeout;
//   - [context.Canceled], which is not the caller's: parse;
//   - a connection that was refused, reset, cut or never made, and names that do not resolve: upstream-5xx;
//   - everything else, errors of encoding/json and [io.ErrUnexpectedEOF] among it: parse.
//
// schema and upstream-4xx are never guessed: only who read the answer can say them.
func Classify(err error) Failure {
	if err == nil {
		return Failure{}
	}
	f := Failure{Err: err}
	cause := err
	if failing, ok := errors.AsType[Failing](err); ok {
		said := failing.Failure()
		f.Class, f.Retry, f.RetryAfter = said.Class, said.Retry, max(0, said.RetryAfter)
		cause = said.Err
	}
	if f.Class == ClassNone {
		f.Class = classOf(cause)
	}
	f.Class = f.Class.known()
	return f
}

// classOf judges errors that do not know their class.
func classOf(err error) FailureClass {
	switch {
	case isTimeout(err):
		return ClassTimeout
	case errors.Is(err, context.Canceled): // by the attempt itself, also in the middle of a call
		return ClassParse
	case isConnection(err):
		return ClassUpstream5xx
	default:
		return ClassParse
	}
}

func isTimeout(err error) bool {
	type timeouter interface {
		error
		Timeout() bool
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	t, ok := errors.AsType[timeouter](err)
	return ok && t.Timeout()
}

// brokenConnection are the errors of a connection that may come without the operation around them.
var brokenConnection = []error{
	net.ErrClosed, io.ErrClosedPipe,
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
	syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN,
}

func isConnection(err error) bool {
	if is[*net.OpError](err) || is[*net.DNSError](err) {
		return true
	}
	// net/http reports a connection that ended before the answer as a bare EOF within a url.Error.
	if request, ok := errors.AsType[*url.Error](err); ok && (errors.Is(request.Err, io.EOF) || errors.Is(request.Err, io.ErrUnexpectedEOF)) {
		return true
	}
	for _, broken := range brokenConnection {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
