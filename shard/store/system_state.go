package store

import (
	"os"
	"strconv"
	"strings"
)

// systemState is what tells a kill by the kernel for lack of memory from other kills.
type systemState struct {
	// Boot is the id of this run of the kernel, and Killed the number of processes that it has killed since for lack of
	// memory: the whole machine's, or a control group's.
	Boot   string `json:"boot"`
	Killed int64  `json:"killed"`
}

// readSystemState returns the present state, or nil if the kernel does not say.
func readSystemState() *systemState {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil
	}
	stat, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(stat)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			killed, err := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
			if err != nil {
				return nil
			}
			return &systemState{Boot: strings.TrimSpace(string(boot)), Killed: killed}
		}
	}
	return nil
}

// killedFromOutside reports whether a process that has not crashed by itself was ended by something other than a lack
// of memory. If that is unknown, it reports false.
func killedFromOutside(before, now *systemState) bool {
	if before == nil || now == nil {
		return false
	}
	// After another start of the system, the process ended with the former one.
	return before.Boot != now.Boot || before.Killed == now.Killed
}
