package recovery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/cold/states"
	"cordwood/shard/replica"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// storeLog stores the entries of a range as a piece. Each has a row for the table of the shard.
func (l *lostCluster) storeLog(first, last, term, before uint64) (path string) {
	l.t.Helper()
	var entries []states.LogEntry
	for i := first; i <= last; i++ {
		var b column.Builder
		b.Add(schema.Column{ID: 1, Type: schema.TimestampSecond, Semantic: schema.Timestamp}).SetInt(0, int64(20000*86400+i))
		b.EndRow()
		entries = append(entries, states.LogEntry{
			Index: i, Term: term, Command: true,
			Data: rules.AppendEntry(nil, &rules.Entry{
				Kind: rules.KindWrite, Time: int64(1_700_000_000+i) * 1e9,
				Writes: []rules.Write{{Batches: [][]byte{b.Encode(nil, column.Header{
					TableID: 1, SchemaVersion: 1, Session: 9, Seq: i,
				})}}},
			}),
		})
	}
	p, err := l.place.PutLog(l.t.Context(), states.LogHeader{Shard: 1, Incarnation: 1, Before: before}, entries)
	if err != nil {
		l.t.Fatal(err)
	}
	return filepath.Join(l.dir, filepath.FromSlash(p.Key))
}

// TestFromBucketLog puts logs behind a state of entry 20 of term 2, which needs them from entry 14 on. The rows up to
// entry 15 are in objects.
func TestFromBucketLog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		store func(l *lostCluster)
		// entries is the number of entries behind the state, printed a part of the output. gap says whether it has one.
		entries int
		printed string
		gap     bool
	}{
		"nothing": {
			store: func(*lostCluster) {}, printed: "it has no entry from 14 on, and the state is of entry 20", gap: true,
		},
		"pieces that overlap": {
			store: func(l *lostCluster) {
				l.storeLog(3, 16, 2, 0)
				l.storeLog(14, 21, 2, 0)
				l.storeLog(20, 25, 2, 2)
			},
			entries: 10, printed: "log of shard 1: entries 14 to 25, up to 2023-11-14T22:13:45Z",
		},
		"a gap": {
			store:   func(l *lostCluster) { l.storeLog(14, 18, 2, 0); l.storeLog(21, 25, 2, 2) },
			entries: 3, printed: "it does not have entry 19, so later ones up to 25 are not used", gap: true,
		},
		"a gap at the beginning": {
			store: func(l *lostCluster) { l.storeLog(15, 25, 2, 0) }, printed: "it does not have entry 14, so none", gap: true,
		},
		"a damaged piece, and a copy of a part": {
			store: func(l *lostCluster) {
				l.storeLog(14, 18, 2, 0)
				l.storeLog(17, 22, 2, 0)
				if err := os.Truncate(l.storeLog(19, 25, 2, 2), 100); err != nil {
					l.t.Fatal(err)
				}
			},
			entries: 7, printed: "a piece of the log of shard 1 cannot be used",
		},
		"a missing piece before the needed ones": {
			store:   func(l *lostCluster) { l.storeLog(1, 5, 1, 0); l.storeLog(9, 25, 2, 0) },
			entries: 10, printed: "entries 14 to 25",
		},
		"a piece of another shard": {
			store: func(l *lostCluster) {
				l.storeLog(14, 18, 2, 0)
				path, other := l.storeLog(19, 25, 2, 2), l.storeLog(40, 41, 2, 0)
				if err := os.Rename(other, path); err != nil {
					l.t.Fatal(err)
				}
			},
			entries: 3, printed: "it is another one than its key says", gap: true,
		},
		"an end that was replaced": {
			store:   func(l *lostCluster) { l.storeLog(14, 25, 2, 0); l.storeLog(23, 23, 3, 2) },
			entries: 8, printed: "entries 14 to 23", gap: true,
		},
		"another history before the state": {
			store: func(l *lostCluster) { l.storeLog(14, 22, 2, 0); l.storeLog(18, 30, 3, 2) }, entries: 7,
			printed: "entries 14 to 22",
		},
		"another history of the state": {
			store: func(l *lostCluster) { l.storeLog(14, 22, 1, 0) }, gap: true, printed: "in the state it is of term 2",
		},
		"a piece whose key has the last index that there is": {
			store: func(l *lostCluster) {
				path := l.storeLog(14, 25, 2, 0)
				l.storeLog(14, 20, 2, 0)
				if err := os.Rename(path, strings.Replace(path, "14-25", "14-18446744073709551615", 1)); err != nil {
					l.t.Fatal(err)
				}
			},
			entries: 5, printed: "log of shard 1: entries 14 to 20",
		},
		"a piece of a later incarnation": {
			store: func(l *lostCluster) {
				path := l.storeLog(20, 25, 2, 0)
				l.storeLog(14, 20, 2, 0)
				later := strings.Replace(path, "/1-1/", "/1-2/", 1)
				if err := errors.Join(os.Mkdir(filepath.Dir(later), 0o700), os.Rename(path, later)); err != nil {
					l.t.Fatal(err)
				}
			},
			entries: 5, printed: "WARNING: shard 1 was recovered after its state had been stored",
		},
		"a piece after entries that were replaced": {
			store:   func(l *lostCluster) { l.storeLog(14, 21, 2, 0); l.storeLog(22, 25, 4, 3) },
			entries: 6, printed: "follows an entry of term 3, and entry 21 is of term 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := loseCluster(t)
			l.logFrom = 14
			l.storeShard(l.state)
			c.store(l)
			out, folder, err := l.recover(nil)
			if err != nil || !strings.Contains(out, c.printed) || strings.Contains(out, "has a gap") != c.gap {
				t.Errorf("%v, want %q:\n%s", err, c.printed, out)
			}
			got, err := replica.Peek(filepath.Join(folder, "shards", "1", store.RaftDirName), raftlog.WAL)
			if err != nil || got.LastIndex != 20+uint64(c.entries) {
				t.Errorf("the log ends at %d, want %d entries after 20: %v\n%s", got.LastIndex, c.entries, err, out)
			}
			if text := fmt.Sprintf("and %d rows in the log", c.entries); c.entries > 0 && !strings.Contains(out, text) {
				t.Errorf("%q is not printed:\n%s", text, out)
			}
		})
	}
}

// TestFromBucketLogAlone makes a shard of which no state was stored from its log.
func TestFromBucketLogAlone(t *testing.T) {
	t.Parallel()
	l := loseCluster(t)
	if err := os.RemoveAll(filepath.Join(l.dir, "c1", "state", "shard")); err != nil {
		t.Fatal(err)
	}
	l.storeLog(1, 7, 1, 0)
	out, folder, err := l.recover(nil)
	if err != nil || !strings.Contains(out, "log of shard 1: entries 1 to 7") {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := replica.Peek(filepath.Join(folder, "shards", "1", store.RaftDirName), raftlog.WAL)
	if err != nil || got.LastIndex != 8 {
		t.Errorf("the log ends at %d: %v", got.LastIndex, err)
	}
}

// TestFromBucketLogAloneGap says that the rows of a shard are lost of which neither a state nor entry 1 is there.
func TestFromBucketLogAloneGap(t *testing.T) {
	t.Parallel()
	l := loseCluster(t)
	if err := os.RemoveAll(filepath.Join(l.dir, "c1", "state", "shard")); err != nil {
		t.Fatal(err)
	}
	l.storeLog(2, 7, 1, 0)
	out, _, err := l.recover(nil)
	if err != nil || !strings.Contains(out, "WARNING: no state of shard 1 was stored, and its log ") ||
		!strings.Contains(out, "NOTE: no state of 1 shard was stored: made without rows") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFromBucketLogWithout says that rows of a table are lost which the log does not have all.
func TestFromBucketLogWithout(t *testing.T) {
	t.Parallel()
	l := loseCluster(t)
	l.logFrom, l.logWithout = 14, []uint64{1}
	l.storeShard(l.state)
	l.storeLog(14, 25, 2, 0)
	out, _, err := l.recover(nil)
	if err != nil || !strings.Contains(out, "table app: 3 rows in 1 object, the newest") ||
		!strings.Contains(out, "WARNING: rows of table app in shard 1 that are in no object are lost, because the log does "+
			"not have all of them") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFromBucketLogEntry has a piece whose checksum is right and whose entry makes no sense. The error says what to do,
// and that helps.
func TestFromBucketLogEntry(t *testing.T) {
	t.Parallel()
	l := loseCluster(t)
	l.logFrom = 14
	l.storeShard(l.state)
	l.storeLog(14, 22, 2, 0)
	p, err := l.place.PutLog(t.Context(), states.LogHeader{Shard: 1, Incarnation: 1, Before: 2}, []states.LogEntry{
		{Index: 23, Term: 2, Command: true, Data: []byte("nonsense")},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := l.recover(nil)
	if err == nil || !strings.Contains(err.Error(), p.Key+": ") ||
		!strings.Contains(err.Error(), "move the object out of the bucket, to go on without entry 23 and later ones") {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(l.dir, filepath.FromSlash(p.Key))); err != nil {
		t.Fatal(err)
	}
	if out, _, err := l.recover(nil); err != nil || !strings.Contains(out, "log of shard 1: entries 14 to 22") {
		t.Errorf("%v\n%s", err, out)
	}
}
