package rules

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
	"cordwood/shard/shardtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestSessionModel compares sessions with a set, also after storing them in the manifest and
// loading them.
func TestSessionModel(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		st := stateOf(t, shardID, &manifest.State{})
		model := map[uint64]bool{}
		high, spread := uint64(0), uint64(1)<<rng.IntN(12)
		for step := range 400 {
			seq := high + rng.Uint64N(2*spread+1)
			seq -= min(seq, spread)
			h := column.Header{Session: 5, Seq: seq}
			appended, known := st.Seen(&h)
			if wantKnown := len(model) == 0 || high-min(high, seq) < sessionWindow; known != wantKnown ||
				known && appended != model[seq] {
				t.Fatalf("seed %d, step %d: number %d, high %d: appended %t, known %t", seed, step, seq, high, appended, known)
			}
			if known {
				st.Note(&h)
				model[seq] = true
				high = max(high, seq)
			}
			if step%100 == 99 {
				st = stateOf(t, shardID, &manifest.State{Sessions: st.StoredSessions()})
			}
		}
	}
}

func TestSessionsExpire(t *testing.T) {
	t.Parallel()
	st := stateOf(t, shardID, &manifest.State{})
	at := func(d time.Duration) int64 { return int64(1e18) + int64(d) }
	steps := []struct {
		at   time.Duration
		note uint64 // the session that appends
		want []uint64
	}{
		{0, 1, []uint64{1}},
		{20 * time.Minute, 2, []uint64{1, 2}},
		{10 * time.Minute, 3, []uint64{1, 2, 3}}, // the clock of a leader is behind, so time stands still
		{30 * time.Minute, 0, []uint64{1, 2, 3}},
		{31*time.Minute + time.Second, 0, []uint64{2, 3}},
		{51*time.Minute + time.Second, 0, nil},
	}
	for i, s := range steps {
		st.Tick(at(s.at))
		st.Note(&column.Header{Session: s.note, Seq: 1})
		var got []uint64
		for _, ses := range st.StoredSessions() {
			got = append(got, ses.ID)
		}
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
	if got := st.Clock; got != at(51*time.Minute+time.Second) {
		t.Errorf("clock %d", got)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	st := stateOf(t, shardID, &manifest.State{})
	for id := uint64(1); id <= maxSessions+2; id++ {
		st.Tick(int64(id / 3))
		st.Note(&column.Header{Session: id, Seq: 1})
	}
	if len(st.sessions) != maxSessions || st.sessions[1] != nil || st.sessions[2] != nil || st.sessions[3] == nil {
		t.Errorf("%d sessions, or not the oldest were forgotten", len(st.sessions))
	}
}

func TestDefine(t *testing.T) {
	t.Parallel()
	change := func(version, epoch uint32) *Definition {
		p := shardtest.Table(1)
		p.Version, p.Placement[0].Epoch = version, epoch
		return definitionOf(t, p)
	}
	st := stateOf(t, shardID, &manifest.State{})
	steps := []struct {
		version, epoch uint32
		want           bool
	}{{3, 3, true}, {2, 9, false}, {3, 3, false}, {3, 4, true}, {4, 4, true}, {3, 5, false}}
	for i, s := range steps {
		d := change(s.version, s.epoch)
		clear(st.dirty)
		st.Define(d)
		_, dirty := st.dirty[1]
		if got := st.Tables[1] == d; got != s.want || dirty != s.want {
			t.Errorf("step %d: adopted %t, dirty %t, want %t", i, got, dirty, s.want)
		}
	}
	st.Drop(1)
	st.Drop(1)
	st.Define(change(9, 9))
	if len(st.Tables) != 0 || len(st.dirty) != 0 || len(st.drops) != 1 {
		t.Error("a dropped table came back")
	}
}

// goldenEntries are entries of every kind.
func goldenEntries(t testing.TB) map[string]*Entry {
	d := shardtest.Table(1)
	d.Options = nil
	table, err := proto.MarshalOptions{Deterministic: true}.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Entry{
		"v1-write.entry": {Kind: KindWrite, Time: 1_795_000_000_000_000_001, Writes: []Write{
			{Tables: [][]byte{table}, Batches: [][]byte{[]byte("first batch"), {}}},
			{Batches: [][]byte{[]byte("second")}},
		}},
		"v1-drop.entry":   {Kind: KindDropTable, Time: -5, TableID: 1 << 40},
		"v1-define.entry": {Kind: KindDefine, Time: 7, Tables: [][]byte{table, table}},
		"v1-write-by-user.entry": {
			Kind: KindWrite, ByUser: true, Time: 9, Writes: []Write{{Batches: [][]byte{[]byte("batch")}}},
		},
		"v1-cut.entry": {Kind: KindCut, Time: 10, Cut: &Cut{Number: 3, Tables: []uint64{1, 1 << 40}}},
		"v1-cut-merging.entry": {
			Kind: KindCut, Time: 14, Cut: &Cut{Number: 4, Tables: []uint64{2, 1 << 41}, Merging: true},
		},
		"v1-forget.entry": {Kind: KindForget, Time: 12, Keys: []string{"c/data/7/1/2/1-1-1-a", "c/data/7/0/2/1-1-1-b"}},
		"v1-join.entry": {Kind: KindJoin, Time: 13, Join: &Join{Number: 7, Tables: []manifest.Joined{
			{TableID: 1, Cuts: []uint64{2, 3, 5}}, {TableID: 1 << 40, Cuts: []uint64{5}},
		}}},
		"v1-join-day.entry": {Kind: KindJoin, Time: 15, Join: &Join{
			Number: 8, Tables: []manifest.Joined{{TableID: 1, Cuts: []uint64{2, 5}}}, ByDay: true, Day: -3,
		}},
		"v1-offload-day.entry": {Kind: KindOffload, Time: 16, Offload: &Offload{
			Number: 8, Tables: []Offloaded{{TableID: 1, Kept: 8, LeftOut: 2}},
			Objects: []cold.Object{{
				Key: "data/1/20000/y.parquet", Day: 20000, TailOffset: 90, TailCRC: 5, Kind: cold.Day,
				Meta: segment.Meta{
					TableID: 1, SchemaVersion: 2, Rows: 8, Bytes: 99, MinTime: -4, MaxTime: 9, FooterCRC: 6, FileCRC: 7,
					Columns: []segment.Column{{ID: 1, FieldID: 1, Name: "ts", Type: schema.TimestampSecond}},
				},
			}},
		}},
		"v1-offload.entry": {Kind: KindOffload, Time: 11, Offload: &Offload{
			Number: 3, Tables: []Offloaded{{TableID: 1, Kept: 8, LeftOut: 2}, {TableID: 1 << 40}},
			Objects: []cold.Object{{Key: "data/1/20000/x.parquet", Day: 20000, TailOffset: 90, TailCRC: 5, Meta: segment.Meta{
				TableID: 1, SchemaVersion: 2, Rows: 8, Bytes: 99, MinTime: -4, MaxTime: 9, FooterCRC: 6, FileCRC: 7,
				Columns: []segment.Column{{ID: 1, FieldID: 1, Name: "ts", Type: schema.TimestampSecond}},
			}}},
		}},
		"v1-expire.entry": {Kind: KindExpire, Time: 8, Cutoffs: []Cutoff{{1 << 40, -3}, {2, 1 << 62}}},
	}
}

// TestGoldenEntries reads entries of every released version and of an imagined future version.
func TestGoldenEntries(t *testing.T) {
	t.Parallel()
	for name, e := range goldenEntries(t) {
		path := filepath.Join("testdata", name)
		b := AppendEntry([]byte("before"), e)[len("before"):]
		if *update {
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b, want) {
			t.Errorf("%s: the bytes that version 1 writes have changed", name)
		}
		got, err := DecodeEntry(want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, got, cmp.AllowUnexported(Entry{}, Write{}, Cutoff{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for i := range want {
			damaged := bytes.Clone(want)
			damaged[i] ^= 1
			if _, err := DecodeEntry(damaged); err == nil && i < EntryHead+int(want[16]) {
				t.Errorf("%s: a flipped bit at %d is not noticed", name, i)
			}
			if _, err := DecodeEntry(want[:i]); err == nil {
				t.Errorf("%s: cut at %d is not noticed", name, i)
			}
		}
		want[0] = 2
		if _, err := DecodeEntry(want); err == nil || !strings.Contains(err.Error(), "format version is 2") {
			t.Errorf("an entry of version 2: %v", err)
		}
	}
}

func TestInspectEntry(t *testing.T) {
	t.Parallel()
	table, err := proto.Marshal(shardtest.Table(1))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, e := range []*Entry{
		{
			Kind: KindWrite,
			Writes: []Write{
				{Tables: [][]byte{table}, Batches: [][]byte{shardtest.Batch(shardtest.Header(1, 9, 4), "a", "b"), []byte("junk")}},
				{},
			},
		},
		{Kind: KindDropTable, Time: 1, TableID: 5},
	} {
		if err := InspectEntry(&out, AppendEntry(nil, e)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"2 writes, proposed 1970-01-01T00:00:00Z", `    table 1 "public"."t1" version 1, 3 columns`,
		"    batch of table 1: epoch 3, schema version 1, session 0000000000000009 number 4, 2 rows, time 4000 to 4001,",
		"    batch of 4 bytes: column batch is damaged", "drop table 5, proposed 1970-01-01T00:00:00.000000001Z",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := InspectEntry(&out, []byte("junk")); err == nil {
		t.Error("malformed data is printed")
	}
}

func FuzzDecodeEntry(f *testing.F) {
	for _, e := range goldenEntries(f) {
		f.Add(AppendEntry(nil, e))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// The checksum is corrected, so that the fuzzer gets past it.
		if meta := len(data) - EntryHead; meta >= 0 && data[0] == entryVersion {
			m := min(meta, int(uint(data[16])|uint(data[17])<<8))
			data[16], data[17], data[18], data[19] = byte(m), byte(m>>8), 0, 0
			body := meta - m
			data[20], data[21], data[22], data[23] = byte(body), byte(body>>8), byte(body>>16), 0
			crc := entryCRC(data, m)
			data[4], data[5], data[6], data[7] = byte(crc), byte(crc>>8), byte(crc>>16), byte(crc>>24)
		}
		e, err := DecodeEntry(data)
		if err != nil {
			return
		}
		size := 0
		for _, w := range e.Writes {
			_, _ = ParseTables(w.Tables)
			for _, b := range w.Batches {
				size += len(b)
			}
		}
		if size > len(data) {
			t.Errorf("%d bytes of batches in %d bytes", size, len(data))
		}
	})
}
