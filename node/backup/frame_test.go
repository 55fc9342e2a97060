package backup

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"cordwood/proto/backuppb"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

var update = flag.Bool("update", false, "write the golden files of this version")

// goldenBackup returns the content of testdata/v1.manifest.
func goldenBackup() *backuppb.Backup {
	sum := bytes.Repeat([]byte{0xab}, sha256Size)
	return &backuppb.Backup{
		Id: "20260704T020000123Z-k3v9xw", ClusterId: "01CLUSTER", CordwoodVersion: "v0.2.0", StartedUnixNano: 1e18,
		FinishedUnixNano: 1e18 + 1,
		Metadata:         &backuppb.Object{Name: metadataName(sum), Size: 99, Sha256: sum}, Tables: 2, Rows: 30, Bytes: 4000,
		Shards: []*backuppb.Shard{{
			Id: 3, Incarnation: 1, Index: 77,
			Segments: []*backuppb.Segment{{Sha256: sum, Segment: &shardpb.PinnedSegment{
				Id: 5, SchemaVersion: 2, Rows: 30, Bytes: 4000, MinTime: -1, MaxTime: 9, FooterCrc: 1, FileCrc: 2, Order: 8,
				Columns: []*shardpb.SegmentColumn{
					{
						Id: 1, Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_SECOND,
						Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP, FieldId: 1, Logical: "Ts",
					},
				},
				Tables: []*shardpb.SegmentTable{
					{TableId: 1, Rows: 10, MinTime: -1, MaxTime: 3}, {TableId: 2, Rows: 20, MinTime: 0, MaxTime: 9},
				},
			}}}, Expired: []*shardpb.ExpiredRows{{TableId: 2, Before: 4, Order: 8}},
			Damaged: []*shardpb.PinnedSegment{{Id: 4, Rows: 6}},
		}},
	}
}

// goldenRecords returns the content of testdata/v1.records.
func goldenRecords() []*backuppb.Record {
	return []*backuppb.Record{
		{
			Of: &backuppb.Record_Database{Database: &schemapb.Database{Name: "web", Options: map[string]string{"ttl": "7days"}}},
		},
		{
			Of: &backuppb.Record_Table{
				Table: &schemapb.Table{
					Id: 1, Database: "web", Name: "t", Version: 3, Columns: []*schemapb.Column{{Id: 1, Name: "ts"}},
				},
			},
		},
		{
			Of: &backuppb.Record_Pipeline{
				Pipeline: &backuppb.Pipeline{Version: &metapb.PipelineVersion{Name: "p", Version: 5}, Source: []byte("text")},
			},
		},
	}
}

func golden(t testing.TB, name string, encode func() []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o750), os.WriteFile(path, encode(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func goldenManifest(t testing.TB) []byte {
	return golden(t, "v1.manifest", func() []byte {
		b, err := encodeFrame(kindManifest, goldenBackup())
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

func goldenMetadata(t testing.TB) []byte {
	return golden(t, "v1.records", func() []byte {
		var out bytes.Buffer
		w, err := newFrameWriter(&out, kindMetadata)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range goldenRecords() {
			if err := w.record(rec); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := w.close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	})
}

// goldenMerging returns the content of testdata/v1-merging.manifest: goldenBackup with a table
// whose merge rule was changed.
func goldenMerging() *backuppb.Backup {
	b := goldenBackup()
	b.Shards[0].Merging = []*shardpb.TableMerging{{TableId: 2, Eras: []*shardpb.MergeEra{
		{Before: 4, Rule: shardpb.MergeRule_MERGE_RULE_LAST_ROW},
		{Before: 9, Rule: shardpb.MergeRule_MERGE_RULE_LAST_NON_NULL},
		{Before: math.MaxUint64, Rule: shardpb.MergeRule_MERGE_RULE_UNSPECIFIED},
	}}}
	return b
}

func TestGoldenMerging(t *testing.T) {
	raw := golden(t, "v1-merging.manifest", func() []byte {
		b, err := encodeFrame(kindManifest, goldenMerging())
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
	got := &backuppb.Backup{}
	if err := readFrame(raw, kindManifest, func(b []byte) error { return unmarshal(b, got) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(goldenMerging(), got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	if err := Inspect(&out, raw); err != nil {
		t.Fatal(err)
	}
	want := "  rows of table 2 merge by last_row in segments of an order below 4, then by last_non_null in segments " +
		"of an order below 9, then by append\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("inspect says\n%s, want a line\n%s", out.String(), want)
	}
}

func TestGoldenFiles(t *testing.T) {
	got := &backuppb.Backup{}
	if err := readFrame(goldenManifest(t), kindManifest, func(b []byte) error {
		return proto.Unmarshal(b, got)
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(goldenBackup(), got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	var records []*backuppb.Record
	if err := readMetadata(goldenMetadata(t), func(rec *backuppb.Record) error {
		records = append(records, rec)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(goldenRecords(), records, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// TestNewerFiles reads files of an invented future version.
func TestNewerFiles(t *testing.T) {
	v2 := golden(t, "future.manifest", func() []byte {
		b := bytes.Clone(goldenManifest(t))
		b[4] = 2
		return seal(b[:len(b)-sha256Size])
	})
	if err := readFrame(v2, kindManifest, nil); !errors.Is(err, ErrNewer) {
		t.Errorf("manifest of version 2: %v, want ErrNewer", err)
	}
	// These are a record and a field that this version does not know.
	for name, rec := range map[string][]byte{
		"record": {0x7a, 1, 0}, "field of a record": {0x0a, 0, 0x7a, 1, 0}, "field of a table": {0x12, 3, 0xfa, 0x06, 0},
	} {
		var out bytes.Buffer
		w, err := newFrameWriter(&out, kindMetadata)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.zstd.Write(append([]byte{byte(len(rec))}, rec...)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.close(); err != nil {
			t.Fatal(err)
		}
		if err := readMetadata(out.Bytes(), func(*backuppb.Record) error { return nil }); !errors.Is(err, ErrNewer) {
			t.Errorf("an unknown %s: %v, want ErrNewer", name, err)
		}
	}
}

// seal adds the checksum at the end of a framed file.
func seal(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:]...)
}

func TestInspect(t *testing.T) {
	var out bytes.Buffer
	if err := errors.Join(Inspect(&out, goldenManifest(t)), Inspect(&out, goldenMetadata(t))); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"backup 20260704T020000123Z-k3v9xw of cluster 01CLUSTER", "shard 3 incarnation 1 at index 77",
		"table 2: 20 rows from 0 to 9", "left out", "database web", "pipeline p",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// FuzzFrame reads random bodies with a valid checksum.
func FuzzFrame(f *testing.F) {
	for _, b := range [][]byte{goldenManifest(f), goldenMetadata(f)} {
		f.Add(b[:len(b)-sha256Size])
	}
	f.Add([]byte("CWBK\x01\x00\x02\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		raw := seal(body)
		_ = readMetadata(raw, func(*backuppb.Record) error { return nil })
		var out bytes.Buffer
		_ = Inspect(&out, raw) // it must not panic
		damaged := bytes.Clone(raw)
		if len(body) > frameHead {
			damaged[len(body)-1] ^= 1
			if err := readMetadata(damaged, func(*backuppb.Record) error { return nil }); err == nil {
				t.Error("a changed byte was not noticed")
			}
		}
	})
}
