package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"fourfold/executor"
	"fourfold/provider"
)

// replyCodes are the words that Redis begins its error replies with. The rest of a reply may quote keys and values.
var replyCodes = []string{
	"ASK", "BUSY", "BUSYGROUP", "BUSYKEY", "CLUSTERDOWN", "CROSSSLOT", "ERR", "EXECABORT", "LOADING", "MASTERDOWN", "MISCONF",
	"MOVED", "NOAUTH", "NOPERM", "NOREPLICAS", "NOSCRIPT", "OOM", "READONLY", "TRYAGAIN", "UNBLOCKED", "WRONGPASS", "WRONGTYPE",
}

// ErrorCode says what kind of error err is, in a few fixed words that may be logged: a provider error's kind, a failure
// class, a system error such as `connection refused`, the first word of a Redis reply, or the Go type of what it does not
// know. It never returns any of the error's own text.
func ErrorCode(err error) string {
	if err == nil {
		return "none"
	}
	if code := ownCode(err); code != "" {
		return code
	}
	if code := systemCode(err); code != "" {
		return code
	}
	if reply, ok := errors.AsType[interface {
		error
		RedisError()
	}](err); ok {
		word, _, _ := strings.Cut(reply.Error(), " ")
		if slices.Contains(replyCodes, word) {
			return "redis " + word
		}
		return "redis"
	}
	return typeName(err)
}

func ownCode(err error) string {
	if e, ok := provider.AsError(err); ok {
		return e.Kind().String()
	}
	if _, ok := errors.AsType[*executor.Parked](err); ok {
		return "parked"
	}
	if _, ok := errors.AsType[*executor.PanicError](err); ok {
		return "panic"
	}
	if errors.Is(err, executor.ErrInterrupted) {
		return "interrupted"
	}
	if f, ok := errors.AsType[executor.Failure](err); ok {
		return f.Class.String()
	}
	return ""
}

func systemCode(err error) string {
	for _, known := range []struct {
		err  error
		code string
	}{
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "deadline exceeded"},
		{os.ErrDeadlineExceeded, "timeout"},
		{os.ErrNotExist, "does not exist"},
		{os.ErrPermission, "permission denied"},
		{net.ErrClosed, "connection closed"},
		{io.ErrUnexpectedEOF, "unexpected end"},
		{io.EOF, "end of input"},
	} {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "name not resolved"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "certificate refused"
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return "timeout"
	}
	return ""
}

// typeName is the type of the innermost error that is not merely text.
func typeName(err error) string {
	name := fmt.Sprintf("%T", err)
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		switch t := fmt.Sprintf("%T", inner); t {
		case "*errors.errorString", "*fmt.wrapError":
		default:
			name = t
		}
	}
	return name
}
