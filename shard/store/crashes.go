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
	// The number of crashes during some work after which the work is done separately from other
	// work (crashesAlone), only when the next attempt is due (crashesPostponed), and not at all
	// (crashesFinal).
	crashesAlone     = 1
	crashesPostponed = 2
	crashesFinal     = 3
)

// crashLog records, across restarts, what a process was working on when it crashed. If the system
// lacks memory, the Go process ends, and the next one would fail in the same way. A kill at that
// moment counts too, so one death is not enough to conclude anything.
//
// The file is not synced, because a crash of the process does not affect the system's cache of it.
// Without the file, or without disk space for it, nothing is recorded. The methods may be called
// concurrently.
type crashLog struct {
	path string
	log  *slog.Logger

	mu   sync.Mutex // guards the fields below
	page crashPage
}

// crashPage is the content of the file.
type crashPage struct {
	// Now is the work in progress. Deaths is how often a process died during each piece of work.
	Now    []uint64       `json:"now,omitempty"`
	Deaths map[uint64]int `json:"deaths,omitempty"`
}

// openCrashLog reads the file and counts the crash of the previous process.
func openCrashLog(path string, log *slog.Logger) *crashLog {
	d := &crashLog{path: path, log: log}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &d.page)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("cannot read what an earlier process was working on; continuing without it", "file", path, "error", err)
	}
	if d.page.Deaths == nil {
		d.page.Deaths = map[uint64]int{}
	}
	for _, id := range d.page.Now {
		d.page.Deaths[id]++
		log.Warn("the previous process ended during this work", "file", path, "reason",
			fmt.Sprintf("id %d, ended %d times", id, d.page.Deaths[id]))
	}
	if len(d.page.Now) > 0 {
		d.page.Now = nil
		d.write()
	}
	return d
}

// write writes the file, or removes it if there is nothing to record. mu must be held, unless
// nothing else refers to d.
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
		d.log.Debug("could not record the work in progress", "file", d.path, "error", err)
	}
}

// begin records the work in progress.
func (d *crashLog) begin(ids ...uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.page.Now = ids
	d.write()
}

// end records that the work is done, and clears its crashes.
func (d *crashLog) end(done ...uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range done {
		delete(d.page.Deaths, id)
	}
	d.page.Now = nil
	d.write()
}

// count returns how often the process crashed during some work.
func (d *crashLog) count(id uint64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.page.Deaths[id]
}

// suspects returns the work during which the process crashed at least times times.
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
