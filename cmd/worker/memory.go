package main

import (
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"fourfold/telemetry"
)

// limitMemory sets Go's soft limit to nine tenths of the container's, so that the collector works harder before the kernel
// kills. GOMEMLIMIT in the environment is left alone.
func limitMemory(log *telemetry.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit, ok := containerMemory(os.DirFS("/sys/fs/cgroup"))
	if !ok {
		return
	}
	soft := limit / 10 * 9
	debug.SetMemoryLimit(soft)
	log.Info("memory limit follows the container's", "container_bytes", limit, "soft_bytes", soft)
}

// containerMemory reads the limit of cgroup v2 or v1; false means that there is none.
func containerMemory(cgroup fs.FS) (int64, bool) {
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		data, err := fs.ReadFile(cgroup, name)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err == nil && n > 0 && n < math.MaxInt64/2 { // v1 writes a huge number for none, v2 the word max
			return n, true
		}
	}
	return 0, false
}
