package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
)

// The files of crash logs.
const (
	FlushingFile   = "FLUSHING"
	CompactingFile = "COMPACTING"
)

const (
	// After crashesAlone crashes of the process over some work it is done apart from other work, after
	// crashesPostponed only when the next attempt is due, and after crashesFinal not at all.
	crashesAlone     = 1
	crashesPostponed = 2
	crashesFinal     = 3
)

// crashLog remembers, over restarts, what a process was working on when it crashed: memory
// that the system does not have ends a Go process, and the next one would do the same
// again. A kill at that moment counts as well, which is why one death is not enough.
//
// It is not synced: what kills a process leaves the system's memory of the file alone.
// Without the file, or without room for it, nothing is remembered. Its methods may be
// called concurrently.
type crashLog struct {
	path string
	log  *slog.Logger

	mu   sync.Mutex // guards what follows
	page crashPage
}

// crashPage is the content of the file.
type crashPage struct {
	// Now is the work in progress, and Deaths how often a process died over each piece of work.
	Now    []uint64       `json:"now,omitempty"`
	Deaths map[uint64]int `json:"deaths,omitempty"`
}

// openCrashLog reads the file and counts what the process before this one died over.
func openCrashLog(path string, log *slog.Logger) *crashLog {
	d := &crashLog{path: path, log: log}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &d.page)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("what an earlier process was working on cannot be read; it is taken for nothing", "file", path, "error", err)
	}
	if d.page.Deaths == nil {
		d.page.Deaths = map[uint64]int{}
	}
	for _, id := range d.page.Now {
		d.page.Deaths[id]++
		log.Warn("the process before this one ended in the middle of this work", "file", path, "reason",
			fmt.Sprintf("id %d, for the %d. time", id, d.page.Deaths[id]))
	}
	if len(d.page.Now) > 0 {
		d.page.Now = nil
		d.write()
	}
	return d
}

// write writes the file, or removes it if there is nothing to remember; mu is held, or nothing
// else refers to d.
func (d *crashLog) write() {
	var err error
	if len(d.page.Now)+len(d.page.Deaths) == 0 {
		err = os.Remove(d.path)
	} else {
		var b []byte
		if b, err = json.Marshal(d.page); err == nil {
			err = os.WriteFile(d.path, append(b, '\n'), 0o640)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Debug("what is worked on could not be noted", "file", d.path, "error", err)
	}
}

// begin notes what is worked on from now on.
func (d *crashLog) begin(ids ...uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.page.Now = ids
	d.write()
}

// end notes that nothing is worked on any more. What was done is forgiven.
func (d *crashLog) end(done ...uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range done {
		delete(d.page.Deaths, id)
	}
	d.page.Now = nil
	d.write()
}

// count returns how often the process crashed over something.
func (d *crashLog) count(id uint64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.page.Deaths[id]
}

// suspects returns what the process crashed over at least so many times.
func (d *crashLog) suspects(times int) (ids []uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(d.page.Deaths)) {
		if d.page.Deaths[id] >= times {
			ids = append(ids, id)
		}
	}
	return ids
}
