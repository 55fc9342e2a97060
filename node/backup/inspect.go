package backup

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"cordwood/proto/backuppb"
	"cordwood/proto/shardpb"
)

// Framed tells by the first bytes of a file whether Inspect prints it.
func Framed(head []byte) bool { return strings.HasPrefix(string(head), frameMagic) }

// Inspect prints a manifest or a file of metadata as text.
func Inspect(w io.Writer, raw []byte) error {
	if len(raw) > 6 && raw[6] == kindMetadata {
		fmt.Fprintf(w, "metadata of a backup, %d bytes\n", len(raw))
		return readMetadata(raw, func(rec *backuppb.Record) error {
			switch of := rec.Of.(type) {
			case *backuppb.Record_Database:
				fmt.Fprintf(w, "database %s %v\n", of.Database.Name, of.Database.Options)
			case *backuppb.Record_Table:
				t := of.Table
				fmt.Fprintf(w, "table %d %s.%s, version %d, %d columns %v\n", t.Id, t.Database, t.Name, t.Version, len(t.Columns), t.Options)
			case *backuppb.Record_Pipeline:
				fmt.Fprintf(w, "pipeline %s, version %s, %d bytes\n", of.Pipeline.Version.GetName(),
					time.Unix(0, of.Pipeline.Version.GetVersion()).UTC().Format(time.RFC3339Nano), len(of.Pipeline.Source))
			}
			return nil
		})
	}
	b := &backuppb.Backup{}
	if err := readFrame(raw, kindManifest, func(record []byte) error { return unmarshal(record, b) }); err != nil {
		return fmt.Errorf("inspect a manifest: %w", err)
	}
	if err := checkManifest(b, b.Id); err != nil {
		return errors.Join(errors.New("inspect a manifest"), err)
	}
	fmt.Fprintf(w, "backup %s of cluster %s by cordwood %s\n", b.Id, b.ClusterId, b.CordwoodVersion)
	fmt.Fprintf(w, "%s to %s, %d tables, %d rows, %d bytes\n", when(b.StartedUnixNano), when(b.FinishedUnixNano), b.Tables, b.Rows, b.Bytes)
	fmt.Fprintf(w, "metadata %s, %d bytes\n", b.Metadata.Name, b.Metadata.Size)
	for _, s := range b.Shards {
		fmt.Fprintf(w, "shard %d incarnation %d at index %d, %d segments\n", s.Id, s.Incarnation, s.Index, len(s.Segments))
		for _, seg := range s.Segments {
			p := seg.Segment
			fmt.Fprintf(w, "  %s\n    order %d, %d rows", segmentName(keyOf(b.ClusterId, s, p), seg.Sha256), p.Order, p.Rows)
			for _, t := range spans(seg) {
				fmt.Fprintf(w, ", table %d: %d rows from %d to %d", t.TableID, t.Rows, t.MinTime, t.MaxTime)
			}
			fmt.Fprintln(w)
		}
		for _, x := range s.Expired {
			fmt.Fprintf(w, "  expired of table %d: rows before %d in segments of an order below %d\n", x.TableId, x.Before, x.Order)
		}
		for _, m := range s.Merging {
			fmt.Fprintf(w, "  rows of table %d merge", m.TableId)
			for i, e := range m.Eras {
				if i > 0 {
					fmt.Fprint(w, ", then")
				}
				rule := "append"
				if e.Rule != shardpb.MergeRule_MERGE_RULE_UNSPECIFIED {
					rule = strings.ToLower(strings.TrimPrefix(e.Rule.String(), "MERGE_RULE_"))
				}
				fmt.Fprintf(w, " by %s", rule)
				if e.Before != math.MaxUint64 {
					fmt.Fprintf(w, " in segments of an order below %d", e.Before)
				}
			}
			fmt.Fprintln(w)
		}
		for _, d := range s.Damaged {
			fmt.Fprintf(w, "  left out because its file was damaged: segment %d, %d rows\n", d.Id, d.Rows)
		}
	}
	return nil
}

func when(unixNano int64) string { return time.Unix(0, unixNano).UTC().Format(time.RFC3339) }
