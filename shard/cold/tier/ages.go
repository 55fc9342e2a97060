package tier

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cordwood/shard/store"
)

// This file keeps since when tables have hot rows over restarts. Otherwise rows would only move because of their size
// on a node that restarts more often than rows become old.

const (
	// HotSinceFile is the file in the folder of a shard that says since when its tables have hot rows.
	HotSinceFile = "HOTSINCE"
	// hotSinceHead is its first line.
	hotSinceHead = "cordwood hot since 1\n"
	// maxHotSince is the largest size of the file that is read, and maxAge the largest age that is taken from it.
	maxHotSince = 64 << 20
	maxAge      = 10 * 365 * 24 * time.Hour
)

// age says since when a table has had rows that are in segments and in no cut.
type age struct {
	from  uint64 // the order at which the last cut ended
	since time.Duration
}

// ages are the ages of tables by id.
type ages map[uint64]age

// next returns the ages of hot tables at a moment: those that are known, and new ones.
func (a ages) next(hot []store.HotTable, now time.Duration) ages {
	out := make(ages, len(hot))
	for i := range hot {
		id := hot[i].Def.ID
		x, known := a[id]
		if !known || x.from != hot[i].From {
			x = age{hot[i].From, now}
		}
		out[id] = x
	}
	return out
}

// saveAges writes the ages to the file. It need not be durable: without it, the age of rows begins anew.
func (m *Mover) saveAges(a ages) error {
	var b bytes.Buffer
	b.WriteString(hotSinceHead)
	wall, now := m.cfg.Now(), m.cfg.Monotonic()
	for _, id := range slices.Sorted(maps.Keys(a)) {
		fmt.Fprintf(&b, "%d %d %d\n", id, a[id].from, wall.Add(a[id].since-now).UnixMilli())
	}
	path := filepath.Join(m.cfg.Dir, HotSinceFile)
	f, err := m.cfg.FS.Create(path + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	if err = cmp.Or(err, f.Close()); err != nil {
		return errors.Join(err, m.cfg.FS.Remove(path+".tmp"))
	}
	return m.cfg.FS.Rename(path+".tmp", path)
}

// loadAges reads the ages that a former process saved. A line that cannot be read is left out.
func (m *Mover) loadAges() (ages, error) {
	path := filepath.Join(m.cfg.Dir, HotSinceFile)
	size, err := m.cfg.FS.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ages{}, nil
	}
	if err != nil || size > maxHotSince {
		return ages{}, cmp.Or(err, fmt.Errorf("%s has %d bytes", path, size))
	}
	f, err := m.cfg.FS.Open(path)
	if err != nil {
		return ages{}, err
	}
	defer f.Close()
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return ages{}, err
	}
	text, ok := strings.CutPrefix(string(b), hotSinceHead)
	if !ok {
		return ages{}, fmt.Errorf("%s does not begin with %q", path, hotSinceHead)
	}
	wall, now, out := m.cfg.Now(), m.cfg.Monotonic(), ages{}
	for line := range strings.Lines(text) {
		var id, from uint64
		var milli int64
		if n, _ := fmt.Sscanf(line, "%d %d %d\n", &id, &from, &milli); n == 3 {
			// The machine's clock may have been set back, and a damaged number must not overflow.
			out[id] = age{from, now - min(max(wall.Sub(time.UnixMilli(milli)), 0), maxAge)}
		}
	}
	return out, nil
}
