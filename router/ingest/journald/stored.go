package journald

import (
	"math"
	"time"

	"cordwood/router/ingest"
)

// stored says how many of a source's entries are stored already: none, some, or an unknown number.
type stored uint8

const (
	unknown stored = iota
	// none means that none of the new entries is stored.
	none
	// some means that some of the new entries are stored, so the table is queried for each piece.
	some
)

// maxSources limits the number of sources that are remembered during a request. For other sources, the table is
// queried for each piece.
const maxSources = 1000

// unstored returns the entries of a piece that are not stored yet. It queries the table, which all routers see and
// which survives restarts, because an uploader resends everything that was not acknowledged.
func (u *upload) unstored(entries []*entry) ([]*entry, error) {
	first, last := entries[0], entries[len(entries)-1]
	if first.source == nil || u.target.Pipeline != "" {
		return entries, nil // the columns that the pipeline creates are not known
	}
	source := string(first.source)
	since, until := times(entries)
	q := &ingest.Lookup{
		Database: u.target.Database, Table: u.target.Table, Column: columnCursor,
		Low: "s=" + source + ";", High: "s=" + source + "<", Since: since, Limit: 1,
	}
	state := u.found[source]
	if state == unknown {
		cursors, err := u.call.Lookup(q)
		if err != nil {
			return nil, err
		}
		if state = some; len(cursors) == 0 {
			state = none
		}
		if len(u.found) < maxSources {
			u.found[source] = state
		}
	}
	if state == none {
		return entries, nil
	}
	// The numbers have the same length, so they are sorted as texts.
	q.Low, q.High = "s="+source+";i="+string(first.number)+";", "s="+source+";i="+string(last.number)+"<"
	q.Until, q.Limit = until, 2*pieceEntries
	cursors, err := u.call.Lookup(q)
	if err != nil {
		return nil, err
	}
	return u.without(entries, cursors), nil
}

// without returns the entries whose cursors are not in the given list.
func (u *upload) without(entries []*entry, cursors []string) []*entry {
	if len(cursors) == 0 {
		return entries
	}
	have := make(map[string]bool, len(cursors))
	for _, c := range cursors {
		have[c] = true
	}
	out := make([]*entry, 0, len(entries))
	for _, e := range entries {
		if !have[string(e.cursor)] {
			out = append(out, e)
		}
	}
	u.receiver.Ingestion.Repeated(u.receiver.Protocol, len(entries)-len(out))
	return out
}

// times returns the time range of the rows of the entries. The times in the table may be whole seconds. 0 and 0
// mean that the range is not known.
func times(entries []*entry) (since, until int64) {
	since, until = math.MaxInt64, math.MinInt64
	for _, e := range entries {
		if !e.hasTime {
			return 0, 0
		}
		since, until = min(since, e.time), max(until, e.time)
	}
	if until > math.MaxInt64-int64(2*time.Second) {
		return max(1, since-int64(time.Second)), 0
	}
	return max(1, since-int64(time.Second)), until + int64(time.Second)
}
