package job

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Report is what a worker process has done and spent since it was started.
type Report struct {
	Begun      time.Time     // the first step; zero: none yet
	Calls      int64         // steps begun
	Cut        int64         // steps whose context ended before they were done
	Finished   int64         // runs
	Duplicates int64         // deliveries of what was done already, or is in other hands
	Swept      int64         // what the sweeper mended
	Writes     int64         // to Redis' connections: round trips
	Written    int64         // bytes of them
	CPU        time.Duration // user and system
	Resident   int64         // bytes, now
	Peak       int64         // bytes, at most so far
	Heap       int64         // bytes of Go's heap in use
	Stacks     int64         // bytes of goroutines' stacks
	Goroutines int
}

func (t *Tally) report() Report {
	r := Report{
		Calls: t.calls.Load(), Cut: t.cut.Load(), Finished: t.finished.Load(), Duplicates: t.duplicates.Load(), Swept: t.swept.Load(),
		Writes: t.writes.Load(), Written: t.written.Load(), Goroutines: runtime.NumGoroutine(),
	}
	if at := t.begun.Load(); at != 0 {
		r.Begun = time.Unix(0, at)
	}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		r.CPU = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.Heap, r.Stacks = int64(m.HeapInuse), int64(m.StackInuse)
	r.Resident, r.Peak = resident()
	return r
}

// resident reads the process's memory, now and at most, in bytes; 0 where the system does not tell.
func resident() (now, peak int64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if len(words) == 0 || name != "VmRSS" && name != "VmHWM" {
			continue
		}
		n, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			continue
		}
		if name == "VmRSS" {
			now = n << 10
		} else {
			peak = n << 10
		}
	}
	return now, peak
}
