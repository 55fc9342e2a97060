package config

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MachineMemory returns the memory that this process may use, in bytes: the limit of its cgroup if there is one,
// otherwise the memory of the machine.
func MachineMemory() int64 {
	limit := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		limit = int64(info.Totalram) * int64(info.Unit)
	}
	list, _ := os.ReadFile("/proc/self/cgroup") // without the file, the system has no cgroups
	for _, file := range cgroupFiles("/sys/fs/cgroup", string(list)) {
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

// cgroupFiles returns the files that may contain a memory limit of this process, for v1 and v2: the files of its
// cgroup and of the parent groups, such as a systemd slice, whose limits also apply. list is the content of
// /proc/self/cgroup.
func cgroupFiles(root, list string) (files []string) {
	seen := map[string]bool{}
	add := func(root, path, file string) {
		for path = filepath.Join("/", path); ; path = filepath.Dir(path) {
			if name := filepath.Join(root, path, file); !seen[name] {
				seen[name] = true
				files = append(files, name)
			}
			if path == "/" {
				return
			}
		}
	}
	add(root, "/", "memory.max")
	add(filepath.Join(root, "memory"), "/", "memory.limit_in_bytes")
	for line := range strings.Lines(list) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0":
			add(root, parts[2], "memory.max")
		case strings.Contains(","+parts[1]+",", ",memory,"):
			add(filepath.Join(root, "memory"), parts[2], "memory.limit_in_bytes")
		}
	}
	return files
}
