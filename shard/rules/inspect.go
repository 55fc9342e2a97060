package rules

import (
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/proto/schemapb"
	"cordwood/proto/words"
)

// InspectEntry prints the data of one command of a shard's log as text: its kind and time, and for
// each write the definitions and the headers of the batches.
func InspectEntry(w io.Writer, data []byte) error {
	e, err := DecodeEntry(data)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	p := &linePrinter{w: w}
	at := time.Unix(0, e.Time).UTC().Format(time.RFC3339Nano)
	if e.Kind == KindDropTable {
		p.line("drop table %d, proposed %s, %d bytes", e.TableID, at, len(data))
		return p.err
	}
	switch e.Kind {
	case KindDefine:
		p.line("%d table definitions, proposed %s, %d bytes", len(e.Tables), at, len(data))
		return inspectTables(p, "  ", e.Tables)
	case KindExpire:
		p.line("rows of %d tables expire, proposed %s, %d bytes", len(e.Cutoffs), at, len(data))
		for _, c := range e.Cutoffs {
			p.line("  table %d: rows before %d", c.TableID, c.Before)
		}
		return p.err
	case KindCut:
		p.line("cut %d of %s, proposed %s, %d bytes", e.Cut.Number, words.Count(len(e.Cut.Tables), "table"), at, len(data))
		p.line("  tables %d", e.Cut.Tables)
		return p.err
	case KindJoin:
		p.line("join %d of objects of %s, proposed %s, %d bytes", e.Join.Number,
			words.Count(len(e.Join.Tables), "table"), at, len(data))
		for _, t := range e.Join.Tables {
			p.line("  table %d: cuts %d", t.TableID, t.Cuts)
		}
		if e.Join.ByDay {
			p.line("  day %s", time.Unix(e.Join.Day*86400, 0).UTC().Format(time.DateOnly))
		}
		return p.err
	case KindForget:
		p.line("%s were deleted, proposed %s, %d bytes", words.Count(len(e.Keys), "dead object"), at, len(data))
		for _, key := range e.Keys {
			p.line("  object %s", key)
		}
		return p.err
	case KindOffload:
		return inspectOffload(p, e.Offload, at, len(data))
	}
	p.line("%s, proposed %s, %s", words.Count(len(e.Writes), "write"), at, words.Count(len(data), "byte"))
	for i := range e.Writes {
		p.line("  write %d", i+1)
		if err := inspectTables(p, "    ", e.Writes[i].Tables); err != nil {
			return fmt.Errorf("inspect: write %d: %w", i+1, err)
		}
		for _, b := range e.Writes[i].Batches {
			h, err := column.DecodeHeader(b)
			if err != nil {
				p.line("    batch of %d bytes: %v", len(b), err)
				continue
			}
			p.line("    batch of table %d: epoch %d, schema version %d, session %016x number %d, %d rows, time %d to %d, %d "+
				"bytes",
				h.TableID, h.Epoch, h.SchemaVersion, h.Session, h.Seq, h.Rows, h.MinTime, h.MaxTime, len(b))
		}
	}
	return p.err
}

func inspectOffload(p *linePrinter, o *Offload, at string, bytes int) error {
	p.line("offload of cut %d to %s, proposed %s, %d bytes", o.Number, words.Count(len(o.Objects), "object"), at, bytes)
	for _, t := range o.Tables {
		p.line("  table %d: %d rows kept, %d had expired", t.TableID, t.Kept, t.LeftOut)
	}
	for i := range o.Objects {
		x := &o.Objects[i]
		p.line("  object %s: %d rows, %d bytes, checksum %08x", x.Key, x.Meta.Rows, x.Meta.Bytes, x.Meta.FileCRC)
	}
	return p.err
}

// LoggedWrite is one write of an entry, or the definitions of an entry that only defines tables.
type LoggedWrite struct {
	Tables  []*schemapb.Table
	Batches [][]byte // encoded
}

// ReadEntry decodes the data of one command of a shard's log, for programs that check the log by
// their own rules. dropped is the table that it drops, or 0.
func ReadEntry(data []byte) (writes []LoggedWrite, dropped uint64, err error) {
	e, err := DecodeEntry(data)
	if err != nil {
		return nil, 0, err
	}
	switch e.Kind {
	case KindDropTable:
		return nil, e.TableID, nil
	case KindDefine:
		e.Writes = []Write{{Tables: e.Tables}}
	}
	for i := range e.Writes {
		w := LoggedWrite{Batches: e.Writes[i].Batches}
		for _, data := range e.Writes[i].Tables {
			t := &schemapb.Table{}
			if err := proto.Unmarshal(data, t); err != nil {
				return nil, 0, fmt.Errorf("write %d: table definition: %w", i+1, err)
			}
			w.Tables = append(w.Tables, t)
		}
		writes = append(writes, w)
	}
	return writes, 0, nil
}

func inspectTables(p *linePrinter, indent string, tables [][]byte) error {
	defs, err := ParseTables(tables)
	if err != nil {
		return fmt.Errorf("table definition: %w", err)
	}
	for _, d := range defs {
		p.line("%stable %d %q.%q version %d, %d columns", indent, d.ID, d.Database, d.Name, d.Version, len(d.Columns))
	}
	return p.err
}

// CheckEntry checks that the data of one command of a shard's log can be read, including the
// checksum of each batch.
func CheckEntry(data []byte) error {
	e, err := DecodeEntry(data)
	if err != nil {
		return err
	}
	for i := range e.Writes {
		if _, err := ParseTables(e.Writes[i].Tables); err != nil {
			return fmt.Errorf("write %d: table definition: %w", i+1, err)
		}
		for k, b := range e.Writes[i].Batches {
			if _, err := column.Decode(b, nil); err != nil {
				return fmt.Errorf("write %d, batch %d: %w", i+1, k+1, err)
			}
		}
	}
	return nil
}

type linePrinter struct {
	w   io.Writer
	err error
}

func (p *linePrinter) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
