package main

import (
	"strings"
	"testing"

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
