package main

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// One short round; make soak plays many long ones.
func TestRunsEndAsTheyMustWhateverIsKilled(t *testing.T) {
	redis.SetLogger(quiet{})
	var out strings.Builder
	const seed = 20
	ok := soak(&out, seed, short, func(round int) bool { return round < 1 })
	t.Log("\n" + out.String())
	if !ok {
		t.Errorf("seed %d: not all ended as it must", seed)
	}
}

// A worker that ends while Redis is away cannot record what it was answered; at any other time it must.
func TestAnEndIsExcusedOnlyWhileRedisIsAway(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	away := []interval{{at(10), at(20)}, {at(40), at(50)}}
	for name, c := range map[string]struct {
		from, to int
		want     bool
	}{
		"before":            {0, 9, false},
		"when it goes away": {0, 10, true},
		"all the time":      {12, 15, true},
		"when it is back":   {20, 30, true},
		"between":           {21, 39, false},
		"the second time":   {45, 60, true},
		"after":             {51, 60, false},
	} {
		if got := (&disruption{what: end, from: at(c.from), to: at(c.to)}).overlaps(away); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}
