package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	minutes := flag.Float64("minutes", 10, "how long to go on beginning rounds")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of flows and faults") //nolint:gosec // any number will do
	flag.Parse()
	redis.SetLogger(quiet{})
	until := time.Now().Add(time.Duration(*minutes * float64(time.Minute)))
	fmt.Printf("seed %d\n", *seed)
	if !soak(os.Stdout, *seed, long, func(int) bool { return time.Now().Before(until) }) {
		os.Exit(1)
	}
}

// soak plays rounds while more says so of their number, and says whether all was well.
func soak(out io.Writer, seed uint64, s settings, more func(round int) bool) (ok bool) {
	w := newWorld(seed, s)
	defer w.close()
	t := newTable(out)
	for n := 0; more(n); n++ {
		r := w.round(n)
		t.row(r)
	}
	return t.end()
}
