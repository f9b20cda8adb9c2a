package executor

import "time"

// pause returns how long to wait after the n-th attempt, which failed with f, and whether another
// attempt may follow at all. There is none when the pause would use up what is left: a sleep that ends
// in nothing helps nobody. jitter is in [0, 1).
func (b Budget) pause(n int, f Failure, left time.Duration, jitter float64) (pause time.Duration, again bool) {
	if n >= b.Attempts || f.Retry == RetryNo || f.Retry == RetryByClass && !f.Class.retryable() {
		return 0, false
	}
	pause = max(backoff(b.Backoff, n, jitter), f.RetryAfter)
	return pause, pause < left
}

// longestBackoff keeps the arithmetic from overflowing; no budget is 73 years long.
const longestBackoff = time.Duration(1) << 61

// backoff returns base·2^(n-1)·(0.5..1.0). Zero for base means DefaultBackoff.
func backoff(base time.Duration, n int, jitter float64) time.Duration {
	if base == 0 {
		base = DefaultBackoff
	}
	for ; n > 1 && base < longestBackoff; n-- {
		base *= 2
	}
	return time.Duration(float64(min(base, longestBackoff)) * (0.5 + jitter/2))
}
