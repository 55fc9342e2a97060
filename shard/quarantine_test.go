package shard

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/query/engine"
	"cordwood/shard/shardtest"
	"cordwood/shard/store"
)

// TestDamagedSegments damages one of two segments in several ways. Whether the damage is found at
// the start, by a query or by Verify, queries that need the segment must fail with its name instead
// of returning fewer rows. Everything else must continue, and a restored file must be read again.
func TestDamagedSegments(t *testing.T) {
	t.Parallel()
	change := func(f func(b []byte) []byte) func(path string) error {
		return func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, f(b), 0o644)
		}
	}
	flip := func(at int) func(string) error {
		return change(func(b []byte) []byte {
			if at < 0 {
				at += len(b)
			}
			b[at] ^= 1
			return b
		})
	}
	tests := []struct {
		name    string
		damage  func(path string) error
		atStart bool // whether the damage is found when the shard opens
		want    string
	}{
		{"missing", os.Remove, true, "no such file"},
		{"cut", func(path string) error { return os.Truncate(path, 50) }, true, "its size should be"},
		{"empty", func(path string) error { return os.Truncate(path, 0) }, true, "its size should be"},
		{"footer", flip(-30), true, "its footer checksum should be"},
		{"pages", change(func(b []byte) []byte {
			for i := 4; i < len(b)/4; i++ {
				b[i] ^= 1
			}
			return b
		}), false, "its checksum should be"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := testConfig(t)
			s := openShard(t, cfg)
			s.mustPut(batch(head(2, 9, 2), "other")) // in a file of its own
			s.flush()
			s.mustPut(batch(head(1, 9, 1), "a"))
			s.flush()
			s.mustPut(batch(head(1, 9, 3), "b"))
			s.flush()
			s.mustPut(batch(head(1, 9, 4), "c"))
			path := s.store.Status.SegmentsOf(1)[0].Path
			sound, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s.crash()
			if err := test.damage(path); err != nil {
				t.Fatal(err)
			}
			reg := prometheus.NewRegistry()
			s.cfg.Registerer = reg
			s = openShard(t, s.cfg)
			// An engine that has never read the damaged file has nothing of it in its cache.
			ask := func(s *opened, table uint64, partial bool) (string, error) {
				eng, err := engine.Open(engine.Config{
					MemoryLimit: 256 << 20, Threads: 1, TempDir: t.TempDir(), Dirs: []string{s.cfg.Dir},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer eng.Close()
				c := serve(t, eng, s.Shard)
				out, _, err := receive(t, c, &shardpb.QueryRequest{
					Sql: fmt.Sprintf("SELECT string_agg(m, ',' ORDER BY m) AS m FROM t%d", table), Database: "public",
					AllowPartial: partial,
					Tables:       []*shardpb.QueryTable{queryTable(table, testShard)},
				})
				if err != nil {
					return "", err
				}
				r, err := ipc.NewReader(bytes.NewReader(out))
				if err != nil {
					t.Fatal(err)
				}
				if !r.Next() {
					t.Fatal("no rows")
				}
				return r.RecordBatch().Column(0).ValueStr(0), nil
			}
			if !test.atStart {
				if _, err := ask(s, 1, false); errs.From(err).Status() != 503 ||
					!strings.Contains(err.Error(), "1 damaged segments were found") {
					t.Errorf("the query that finds it gives %v", err)
				}
			}
			for range 2 { // the damage is known after a restart
				_, err := ask(s, 1, false)
				for _, want := range []string{filepath.Base(path), "1 rows of 1970", "damaged", test.want, "--forget"} {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("a query without the segment gives %v, want %q in it", err, want)
					}
				}
				if errs.From(err).Status() != 500 { // no other replica can repair it
					t.Errorf("status %d", errs.From(err).Status())
				}
				if got, err := ask(s, 1, true); err != nil || got != "b,c" {
					t.Errorf("partial: %q, %v", got, err)
				}
				if got, err := ask(s, 2, false); err != nil || got != "other" {
					t.Errorf("another table: %q, %v", got, err)
				}
				st := s.Stats(true)
				if n := len(st.Segments); n != 3 || st.Segments[0].Quarantined == "" || st.Segments[1].Quarantined != "" {
					t.Errorf("stats: %v", st.Segments)
				}
				if n := shardtest.Metric(t, reg, "cordwood_shard_segments_damaged"); n != 1 {
					t.Errorf("the metric is %v", n)
				}
				s = s.reopen()
			}
			s.mustPut(batch(head(1, 9, 5), "d"))
			s.flush()
			if n, err := s.Verify(nil, nil); n != 0 || err != nil {
				t.Errorf("%d more segments are damaged: %v", n, err)
			}
			s.crash()
			if err := os.WriteFile(path, sound, 0o644); err != nil {
				t.Fatal(err)
			}
			s = openShard(t, s.cfg)
			if got, err := ask(s, 1, false); err != nil || got != "a,b,c,d" {
				t.Errorf("restored: %q, %v", got, err)
			}
			if _, err := os.Stat(path + store.DamagedSuffix); err == nil {
				t.Error("the segment is still marked as damaged")
			}
		})
	}
}

// TestVerify finds damage that no query has found yet.
func TestVerify(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"))
	s.flush()
	s.mustPut(batch(head(2, 9, 2), "b"))
	s.flush()
	path := s.store.Status.SegmentsOf(2)[0].Path
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	paced := 0
	pace := func(n int) error { paced += n; return nil }
	if n, err := s.Verify(nil, pace); n != 0 || err != nil || paced == 0 {
		t.Fatalf("%d damaged, %d bytes read, %v", n, paced, err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Verify([]uint64{1}, nil); n != 0 || err != nil {
		t.Errorf("of the other table: %d, %v", n, err)
	}
	if n, err := s.Verify(nil, nil); n != 1 || err != nil {
		t.Errorf("%d damaged, %v", n, err)
	}
	if err := s.DropTable(wait(t), 2); err != nil {
		t.Fatal(err)
	}
	s.flush()
	if names := s.files("segments"); len(names) != 1 {
		t.Errorf("after the table was dropped, the files %q are left", names)
	}
}
