package node

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memoryLimit is the memory that this process may use, in bytes: that of its
// cgroup if it has a limit, else that of the machine.
func memoryLimit() int64 {
	limit := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		limit = int64(info.Totalram) * int64(info.Unit)
	}
	for _, file := range cgroupFiles() {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// "max", or a huge number in cgroup v1, means no limit.
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
			limit = min(limit, n)
		}
	}
	return limit
}

// cgroupFiles are the files that may hold this process's memory limit, v2 and v1.
func cgroupFiles() []string {
	files := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return files
	}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0":
			files = append(files, filepath.Join("/sys/fs/cgroup", parts[2], "memory.max"))
		case strings.Contains(","+parts[1]+",", ",memory,"):
			files = append(files, filepath.Join("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	return files
}

// limitHeap makes the collector work harder before the process outgrows its limit,
// unless GOMEMLIMIT says otherwise. Memory outside the Go heap (rows in memory,
// the query engine) has the other share.
func limitHeap(limit int64) {
	if os.Getenv("GOMEMLIMIT") == "" && limit != math.MaxInt64 {
		debug.SetMemoryLimit(limit / 2)
	}
}
