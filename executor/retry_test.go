package executor

import (
	"math"
	"testing"
	"time"
)

func TestRetryOverrideWinsOverTheClassBothWays(t *testing.T) {
	byClass := map[FailureClass]bool{
		ClassTimeout: true, ClassParse: true, ClassUpstream5xx: true,
		ClassSchema: false, ClassUpstream4xx: false,
	}
	b := Budget{Attempts: 2, Backoff: time.Millisecond}
	for _, class := range FailureClasses() {
		for retry, want := range map[Retry]bool{RetryByClass: byClass[class], RetryYes: true, RetryNo: false} {
			if _, got := b.pause(1, Failure{Class: class, Retry: retry}, time.Minute, 0); got != want {
				t.Errorf("%v, retry %d: another attempt = %v, want %v", class, retry, got, want)
			}
			if _, got := b.pause(2, Failure{Class: class, Retry: retry}, time.Minute, 0); got {
				t.Errorf("%v, retry %d: an attempt more than the budget has", class, retry)
			}
		}
	}
}

func TestBackoffDoublesWithinItsBounds(t *testing.T) {
	const almostOne = 1 - 1.0/(1<<53)
	tests := []struct {
		name   string
		base   time.Duration
		n      int
		jitter float64
		want   time.Duration
	}{
		{"first, least", time.Second, 1, 0, 500 * time.Millisecond},
		{"first, middle", time.Second, 1, 0.5, 750 * time.Millisecond},
		{"first, most", time.Second, 1, almostOne, time.Second},
		{"second, least", time.Second, 2, 0, time.Second},
		{"third, least", time.Second, 3, 0, 2 * time.Second},
		{"third, most", time.Second, 3, almostOne, 4 * time.Second},
		{"default base", 0, 1, 0, DefaultBackoff / 2},
		{"default base, second", 0, 2, almostOne, 2 * DefaultBackoff},
		{"as many attempts as can be counted", time.Second, math.MaxInt, almostOne, longestBackoff},
		{"the longest base", math.MaxInt64, 1, almostOne, longestBackoff},
	}
	for _, tt := range tests {
		// The largest jitter below one rounds to one in the arithmetic: equal is allowed.
		if got := backoff(tt.base, tt.n, tt.jitter); got > tt.want || got < tt.want-2 && tt.want < time.Hour {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestPauseIsNeverASleepThatEndsInNothing(t *testing.T) {
	tests := []struct {
		name       string
		retryAfter time.Duration
		left       time.Duration
		want       time.Duration
		again      bool
	}{
		{"backoff fits", 0, 10 * time.Second, time.Second, true},
		{"backoff uses up what is left", 0, time.Second, time.Second, false},
		{"backoff is longer than what is left", 0, time.Millisecond, time.Second, false},
		{"nothing is left", 0, 0, time.Second, false},
		{"less than nothing is left", 0, -time.Second, time.Second, false},
		{"RetryAfter is a floor", 3 * time.Second, 10 * time.Second, 3 * time.Second, true},
		{"RetryAfter below the backoff changes nothing", time.Millisecond, 10 * time.Second, time.Second, true},
		{"RetryAfter does not fit", 10 * time.Second, 10 * time.Second, 10 * time.Second, false},
		{"RetryAfter just fits", 10*time.Second - 1, 10 * time.Second, 10*time.Second - 1, true},
	}
	b := Budget{Attempts: 3, Backoff: 2 * time.Second}
	for _, tt := range tests {
		got, again := b.pause(1, Failure{Class: ClassTimeout, RetryAfter: tt.retryAfter}, tt.left, 0)
		if got != tt.want || again != tt.again {
			t.Errorf("%s: got %v, %v, want %v, %v", tt.name, got, again, tt.want, tt.again)
		}
	}
}
