package provider

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestRetryAfter caps what a provider may ask for, so that sums of it and a time stay in range.
const longestRetryAfter = 366 * 24 * time.Hour

// RetryAfterFrom reads how long a provider asks to be left alone: retry-after-ms, else Retry-After as seconds (also
// fractional) or as an HTTP date, which is 0 when it is past. False: it did not say, or what it said is no time.
func RetryAfterFrom(h http.Header, now time.Time) (time.Duration, bool) {
	if d, ok := amount(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d, true
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := amount(value, time.Second); ok {
		return d, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), longestRetryAfter), true
	}
	return 0, false
}

// retryDelay reads google.rpc.RetryInfo's form of a duration: "45.8s".
func retryDelay(s string) (time.Duration, bool) {
	number, found := strings.CutSuffix(s, "s")
	if !found {
		return 0, false
	}
	return amount(number, time.Second)
}

// amount reads a decimal number of units. Signs, exponents and words are no amount.
func amount(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(math.Min(math.Round(n*float64(unit)), float64(longestRetryAfter))), true
}
