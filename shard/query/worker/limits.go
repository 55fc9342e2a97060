package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lowerPriority lowers the CPU priority of the process, for its present and future threads.
func lowerPriority(nice int) error {
	// When memory is short, the system should kill this process and not the server. If the setting
	// fails, nothing else is affected.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	if nice == 0 {
		return nil
	}
	// A thread inherits the priority of the thread that starts it. After a pass that changes
	// nothing, all threads have it.
	for changed := true; changed; {
		changed = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("query worker: list the threads: %w", err)
		}
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			// The system call returns 20 minus the niceness.
			if have, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err != nil || have <= 20-nice {
				continue
			}
			if err := unix.Setpriority(unix.PRIO_PROCESS, tid, nice); err != nil {
				return fmt.Errorf("query worker: set the niceness to %d: %w", nice, err)
			}
			changed = true
		}
	}
	return nil
}

// limitMemory allows the process size more bytes of private memory than it has now. Files and
// shared memory that it maps do not count. It returns the total limit.
func limitMemory(more int64) (int64, error) {
	now, err := dataSize("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("query worker: read the size of its memory: %w", err)
	}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &l); err != nil {
		return 0, fmt.Errorf("query worker: limit its memory: %w", err)
	}
	limit := min(uint64(now+more), l.Max)
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return 0, fmt.Errorf("query worker: limit its memory to %d bytes: %w", limit, err)
	}
	return int64(limit), nil
}

// dataSize returns what RLIMIT_DATA counts of a process, in bytes.
func dataSize(status string) (int64, error) { return statusField(status, "VmData") }

// statusField reads a size from a file like /proc/self/status, in bytes.
func statusField(status, name string) (int64, error) {
	b, err := os.ReadFile(status)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		rest, ok := bytes.CutPrefix(line, []byte(name+":"))
		if !ok {
			continue
		}
		fields := bytes.Fields(rest)
		if len(fields) == 0 {
			break
		}
		kb, err := strconv.ParseInt(string(fields[0]), 10, 64)
		return kb << 10, err
	}
	return 0, fmt.Errorf("%s has no %s", status, name)
}
