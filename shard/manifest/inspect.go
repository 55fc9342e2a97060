package manifest

import (
	"fmt"
	"io"
	"strings"
	"time"

	"cordwood/shard/cold"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// Inspect prints a manifest file as text: the header, each edit, and the resulting state.
func Inspect(w io.Writer, fsys vfs.FS, path string) error {
	b, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return fmt.Errorf("inspect manifest: %w", err)
	}
	f, err := parse(path, b)
	if err != nil {
		return fmt.Errorf("inspect manifest: %w", err)
	}
	p := &printer{w: w}
	p.line("manifest of shard %d, format version %d, %d bytes, %d edits", f.shardID, version, len(b), len(f.edits))
	state := &State{}
	for i := range f.edits {
		e := &f.edits[i]
		p.line("")
		in := ""
		if e.records > 1 {
			in = fmt.Sprintf(" in %d records", e.records)
		}
		p.line("edit %d at offset %d, %d bytes%s", i+1, e.offset, e.size, in)
		p.edit(&e.edit)
		state = state.apply(&e.edit)
	}
	if f.torn > 0 {
		p.line("")
		p.line("%d bytes of an unfinished edit at the end, never committed", f.torn)
	}
	p.line("")
	p.line("state")
	p.edit(state.asEdit())
	return p.err
}

// Print prints a state as text.
func (s *State) Print(w io.Writer) error {
	p := &printer{w: w}
	p.edit(s.asEdit())
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) edit(e *Edit) {
	p.line("  applied index %d, term %d; next segment %d; clock %s", e.AppliedIndex, e.AppliedTerm, e.NextSegmentID,
		when(e.Clock))
	for i := range e.Add {
		p.segment(&e.Add[i])
	}
	for _, id := range e.Remove {
		p.line("  remove segment %016d", id)
	}
	for _, t := range e.Tables {
		def, err := t.Decode()
		if err != nil {
			p.line("  %v", err)
			continue
		}
		p.line("  table %d %q.%q version %d, %d columns", def.Id, def.Database, def.Name, def.Version, len(def.Columns))
	}
	for _, id := range e.Drop {
		p.line("  dropped table %d", id)
	}
	for _, d := range e.Tombstones {
		p.line("  dropped table %d at %s", d.TableID, when(d.At))
	}
	for _, x := range e.Expire {
		p.line("  table %d: rows before %d in segments of an order below %d have expired", x.TableID, x.Before, x.Order)
	}
	for _, m := range e.Merging {
		for _, era := range m.Eras {
			p.line("  table %d: rows in segments of an order below %d merge as %s", m.TableID, era.Before, era.Merge)
		}
	}
	if len(e.Reserved) > 0 {
		p.line("  reserved for segments being written: %v", e.Reserved)
	}
	if len(e.Garbage) > 0 {
		p.line("  dead, files may still be there: %v", e.Garbage)
	}
	for _, s := range e.Sessions {
		log := ""
		if s.Unlogged {
			log = ", without the log"
		}
		p.line("  session %016x%s: up to %d, last at %s", s.ID, log, s.High, when(s.LastUnixNano))
	}
	if n := len(e.Keys); n > 0 {
		p.line("  %d batches of requests with a key, from %s to %s", n, when(e.Keys[0].At), when(e.Keys[n-1].At))
	}
	p.cold(e)
}

// cold prints what an edit has about object storage.
func (p *printer) cold(e *Edit) {
	if c := e.Cold; c != nil {
		p.line("  object storage: last cut %d, %d tables counted since their last cut", c.LastCut, len(c.Counted))
		if o := c.Open; o != nil {
			p.line("  cut %d is open since index %d, %s", o.Number, o.Index, when(o.At))
			for i := range o.Tables {
				p.counted("    ", &o.Tables[i])
			}
			p.joined(o.Joins)
			if o.ByDay {
				p.line("    rows of %s", time.Unix(o.Day*86400, 0).UTC().Format(time.DateOnly))
			}
		}
		for i := range c.Counted {
			p.counted("  appended since the last cut: ", &c.Counted[i])
		}
		for i := range c.Dead {
			d := &c.Dead[i]
			p.line("  object %s is dead since %s, %d bytes", d.Key, when(d.At), d.Bytes)
		}
	}
	for i := range e.Sets {
		s := &e.Sets[i]
		p.line("  set %d: %d objects with the rows of its cut up to index %d", s.Number, len(s.Objects), s.Index)
		for k := range s.Objects {
			p.object(&s.Objects[k])
		}
		p.joined(s.Joined)
	}
	for _, o := range e.CutOrders {
		p.line("  table %d: rows of cut %d are in segments of an order below %d", o.TableID, o.Number, o.Order)
	}
}

func (p *printer) joined(list []Joined) {
	for _, j := range list {
		p.line("    joins the cuts %d of table %d", j.Cuts, j.TableID)
	}
}

func (p *printer) counted(indent string, c *Counted) {
	notes := ""
	if c.Unknown {
		notes += ", others were not counted"
	}
	if c.Expired {
		notes += ", some may have expired"
	}
	for _, r := range c.Hidden {
		notes += fmt.Sprintf(", the cuts %d to %d are read from objects only", r.First, r.Last)
	}
	for _, r := range c.Returned {
		notes += fmt.Sprintf(", the rows of the cuts %d to %d belong to the next cut", r.First, r.Last)
	}
	p.line("%stable %d, %d rows%s", indent, c.TableID, c.Rows, notes)
}

func (p *printer) object(o *cold.Object) {
	of := fmt.Sprintf("table %d", o.Meta.TableID)
	if o.Meta.Shared() {
		of = fmt.Sprintf("shared by %d tables", len(o.Meta.Tables))
	}
	switch o.Kind {
	case cold.Merging:
		of += ", rows that merge"
	case cold.Day:
		of += ", merged rows of a day"
	}
	day := time.Unix(o.Day*86400, 0).UTC().Format(time.DateOnly)
	p.line("    object %s: %s, day %s, %d rows, %d bytes, time %d to %d, file crc %08x, tail at %d with crc %08x",
		o.Key, of, day, o.Meta.Rows, o.Meta.Bytes, o.Meta.MinTime, o.Meta.MaxTime, o.Meta.FileCRC, o.TailOffset, o.TailCRC)
}

func (p *printer) segment(m *segment.Meta) {
	names := make([]string, len(m.Columns))
	for i, c := range m.Columns {
		names[i] = fmt.Sprintf("%d %q %s", c.ID, c.Name, c.Type)
	}
	of := fmt.Sprintf("table %d version %d", m.TableID, m.SchemaVersion)
	if m.Shared() {
		of = fmt.Sprintf("shared by %d tables", len(m.Tables))
	}
	p.line("  segment %s: %s, order %d, %d rows, %d bytes, time %d to %d, footer crc %08x, file crc %08x",
		m.FileName(), of, m.Order, m.Rows, m.Bytes, m.MinTime, m.MaxTime, m.FooterCRC, m.FileCRC)
	if m.Raw {
		p.line("    raw: its rows could not be written in the usual form, and are in memory")
		return
	}
	for _, t := range m.Tables {
		p.line("    table %d: %d rows, time %d to %d", t.TableID, t.Rows, t.MinTime, t.MaxTime)
	}
	p.line("    columns %s", strings.Join(names, ", "))
}

func when(unixNano int64) string {
	if unixNano == 0 {
		return "unset"
	}
	return time.Unix(0, unixNano).UTC().Format(time.RFC3339Nano)
}
