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
	"cordwood/proto/words"
)

// Framed reports whether Inspect can print a file with these first bytes.
func Framed(head []byte) bool { return strings.HasPrefix(string(head), frameMagic) }

// inspectMetadata prints a file of metadata.
func inspectMetadata(w io.Writer, raw []byte) error {
	fmt.Fprintf(w, "metadata of a backup, %s\n", words.Count(len(raw), "byte"))
	return readMetadata(raw, func(rec *backuppb.Record) error {
		switch of := rec.Of.(type) {
		case *backuppb.Record_Database:
			fmt.Fprintf(w, "database %s %v\n", of.Database.Name, of.Database.Options)
		case *backuppb.Record_Table:
			t := of.Table
			fmt.Fprintf(w, "table %d %s.%s, version %d, %s %v\n", t.Id, t.Database, t.Name, t.Version,
				words.Count(len(t.Columns), "column"), t.Options)
		case *backuppb.Record_Pipeline:
			fmt.Fprintf(w, "pipeline %s, version %s, %s\n", of.Pipeline.Version.GetName(),
				time.Unix(0, of.Pipeline.Version.GetVersion()).UTC().Format(time.RFC3339Nano),
				words.Count(len(of.Pipeline.Source), "byte"))
		case *backuppb.Record_Saved:
			s := of.Saved.Saved
			fmt.Fprintf(w, "saved %s %q of %q, version %d, %s\n", s.GetKind(), s.GetName(), s.GetOwner(), s.GetVersion(),
				words.Count(len(of.Saved.Value), "byte"))
		}
		return nil
	})
}

// Inspect prints a manifest or a file of metadata as text.
func Inspect(w io.Writer, raw []byte) error {
	if len(raw) > 6 && raw[6] == kindMetadata {
		return inspectMetadata(w, raw)
	}
	b := &backuppb.Backup{}
	if err := readFrame(raw, kindManifest, func(record []byte) error { return unmarshal(record, b) }); err != nil {
		return fmt.Errorf("inspect a manifest: %w", err)
	}
	if err := checkManifest(b, b.Id); err != nil {
		return errors.Join(errors.New("inspect a manifest"), err)
	}
	fmt.Fprintf(w, "backup %s of cluster %s by cordwood %s\n", b.Id, b.ClusterId, b.CordwoodVersion)
	fmt.Fprintf(w, "%s to %s, %s, %s, %s\n", when(b.StartedUnixNano), when(b.FinishedUnixNano),
		words.Count(b.Tables, "table"), words.Count(b.Rows, "row"), words.Count(b.Bytes, "byte"))
	fmt.Fprintf(w, "metadata %s, %s\n", b.Metadata.Name, words.Count(b.Metadata.Size, "byte"))
	for _, s := range b.Shards {
		fmt.Fprintf(w, "shard %d incarnation %d at index %d, %s\n", s.Id, s.Incarnation, s.Index,
			words.Count(len(s.Segments), "segment"))
		for _, seg := range s.Segments {
			p := seg.Segment
			fmt.Fprintf(w, "  %s\n    order %d, %s", segmentName(keyOf(b.ClusterId, s, p), seg.Sha256), p.Order,
				words.Count(p.Rows, "row"))
			for _, t := range spans(seg) {
				fmt.Fprintf(w, ", table %d: %s from %d to %d", t.TableID, words.Count(t.Rows, "row"), t.MinTime, t.MaxTime)
			}
			fmt.Fprintln(w)
		}
		for _, x := range s.Expired {
			fmt.Fprintf(w, "  expired of table %d: rows before %d in segments of an order below %d\n", x.TableId,
				x.Before, x.Order)
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
			fmt.Fprintf(w, "  left out because its file was damaged: segment %d, %s\n", d.Id, words.Count(d.Rows, "row"))
		}
	}
	return nil
}

func when(unixNano int64) string { return time.Unix(0, unixNano).UTC().Format(time.RFC3339) }
