package doorbell

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// words turns an error of Redis or the network into fixed words: never the text that somebody else wrote, which may quote
// an address or an argument. Redis' own errors begin with a word in capitals (OOM, NOPERM, READONLY), which is kept.
func words(err error) string {
	var fromRedis redis.Error
	var network net.Error
	switch {
	case err == nil:
		return "none"
	case errors.Is(err, ErrInvalidRing), errors.Is(err, errNoCapture):
		return err.Error()
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, redis.ErrClosed):
		return "client closed"
	case errors.As(err, &fromRedis):
		return "redis answered " + code(fromRedis.Error())
	case errors.As(err, &network) && network.Timeout():
		return "redis did not answer in time"
	default:
		return "redis is out of reach"
	}
}

// code is the first word of a Redis error, if it is one of Redis' upper-case codes.
func code(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if word == "" || len(word) > 20 || strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "an error"
	}
	return word
}
