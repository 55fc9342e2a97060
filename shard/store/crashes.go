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

// killsPerCrash is how many ends by a kill from outside count as one crash. Such kills alone never stop all attempts.
const killsPerCrash = 4

// crashLog records, across restarts, what a process was working on when it crashed. If the system
// lacks memory, it kills the process, and the next one would fail in the same way. A crash may also
// have been a coincidence, so one is not enough to conclude anything.
//
// An end without a crash of the process itself, and without a kill by the kernel for lack of memory,
// is a kill from outside: an operator, an orchestrator, a power failure. It says little about the
// work, so it counts a quarter of a crash.
//
// The file is not synced, because a crash of the process does not affect the system's cache of it.
// Without the file, or without disk space for it, nothing is recorded. The methods may be called
// concurrently.
type crashLog struct {
	path   string
	log    *slog.Logger
	system func() *systemState

	mu   sync.Mutex // guards the fields below
	page crashPage
}

// crashPage is the content of the file.
type crashPage struct {
	// Now is the work in progress, and System the state of the system when it began, nil if that is unknown.
	Now    []uint64     `json:"now,omitempty"`
	System *systemState `json:"system,omitempty"`
	// Deaths is how often a process crashed during each piece of work, and Kills how often it was killed from outside.
	Deaths map[uint64]int `json:"deaths,omitempty"`
	Kills  map[uint64]int `json:"kills,omitempty"`
}

// openCrashLog reads the file and counts the end of the previous process. crashed is whether that process is known to
// have crashed by itself.
func openCrashLog(path string, log *slog.Logger, crashed bool, system func() *systemState) *crashLog {
	d := &crashLog{path: path, log: log, system: system}
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
	if d.page.Kills == nil {
		d.page.Kills = map[uint64]int{}
	}
	d.countEnd(!crashed && killedFromOutside(d.page.System, system()))
	return d
}

// countEnd counts the end of the previous process for the work that was in progress.
func (d *crashLog) countEnd(killed bool) {
	if len(d.page.Now) == 0 {
		return
	}
	ends, how := d.page.Deaths, "crashed"
	if killed {
		ends, how = d.page.Kills, "was killed from outside"
	}
	for _, id := range d.page.Now {
		ends[id]++
		d.log.Warn("the previous process ended during this work", "file", d.path, "reason",
			fmt.Sprintf("id %d: it %s, %d times so far", id, how, ends[id]))
	}
	d.page.Now, d.page.System = nil, nil
	d.write()
}

// write writes the file, or removes it if there is nothing to record. mu must be held, unless
// nothing else refers to d.
func (d *crashLog) write() {
	var err error
	if len(d.page.Now)+len(d.page.Deaths)+len(d.page.Kills) == 0 {
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
	d.page.Now, d.page.System = ids, d.system()
	d.write()
}

// end records that the work is done, and clears its crashes.
func (d *crashLog) end(done ...uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range done {
		delete(d.page.Deaths, id)
		delete(d.page.Kills, id)
	}
	d.page.Now, d.page.System = nil, nil
	d.write()
}

// count returns how often the process crashed during some work.
func (d *crashLog) count(id uint64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.page.count(id)
}

func (p *crashPage) count(id uint64) int {
	return p.Deaths[id] + min(p.Kills[id]/killsPerCrash, crashesPostponed)
}

// suspects returns the work during which the process crashed at least times times.
func (d *crashLog) suspects(times int) (ids []uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[uint64]bool{}
	for id := range d.page.Deaths {
		all[id] = true
	}
	for id := range d.page.Kills {
		all[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if d.page.count(id) >= times {
			ids = append(ids, id)
		}
	}
	return ids
}
