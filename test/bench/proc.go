package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// use is the resources that a process and its children have used so far, according to /proc.
type use struct {
	cpu     time.Duration
	peakRSS int64 // bytes; the sum of the processes' own peaks
	written int64 // bytes sent to block devices
}

// readUse reads the resources used by a process and its running children.
func readUse(pid int) (use, error) {
	var u use
	if err := u.add(pid); err != nil {
		return u, err
	}
	for _, child := range childrenOf(pid) {
		_ = u.add(child) // if the child has ended, its CPU is not counted
	}
	return u, nil
}

// childrenOf returns the running children of a process.
func childrenOf(pid int) (out []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is correct
	for _, file := range files {
		list, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}

// threadTime returns the CPU time of the running threads of a process. Unlike readUse, it is exact to the microsecond.
func threadTime(pid int) (sum time.Duration, err error) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is correct
	if len(files) == 0 {
		return 0, fmt.Errorf("process %d has ended, or the system does not count the time of its threads", pid)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

func (u *use) add(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err
	}
	// Fields 14 and 15 of proc(5) are user and system time; field 2 may contain spaces.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return fmt.Errorf("/proc/%d/stat: %d fields after the name", pid, len(fields))
	}
	for _, f := range fields[11:13] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		u.cpu += time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 on Linux
	}
	u.peakRSS += procField(fmt.Sprintf("/proc/%d/status", pid), "VmHWM:") << 10
	u.written += procField(fmt.Sprintf("/proc/%d/io", pid), "write_bytes:")
	return nil
}

// procField returns the number of a field, or 0 if there is none.
func procField(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				n, _ := strconv.ParseInt(f[0], 10, 64)
				return n
			}
		}
	}
	return 0
}

// diskUse returns the size of all files below dir.
func diskUse(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // removed during the walk
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes, err
}
