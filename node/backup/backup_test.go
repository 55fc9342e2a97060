package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/node/backup/store"
)

// files lists the files of a directory, except uploads and locks.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func TestCreateIsIncremental(t *testing.T) {
	r, dir := dirRepository(t)
	f := newFakeCluster(5)
	first := mustCreate(t, r, f)
	if first.Segments != 10 || first.NewSegments != 10 || first.Rows != 100 || first.Tables != 3 {
		t.Errorf("first backup: %+v; want 10 segments, all new, of 100 rows and 3 tables", first)
	}
	before := f.bytes
	f.add(1)
	second := mustCreate(t, r, f)
	if second.Segments != 11 || second.NewSegments != 1 {
		t.Errorf("second backup: %+v; want 11 segments, one of them new", second)
	}
	if got, want := f.bytes-before, int64(len(f.shards[1][5].data)); got != want {
		t.Errorf("the second backup read %d bytes, the new segment has %d", got, want)
	}
	list, err := r.List(wait(t))
	if err != nil || len(list) != 2 || list[0].ID != first.ID && list[1].ID != first.ID {
		t.Errorf("list: %+v, %v", list, err)
	}
	if v := mustVerify(t, r); len(v.Findings) > 0 || len(v.Backups) != 2 || v.Objects != 12 {
		t.Errorf("verify: %+v; want 2 backups of 12 objects and nothing found", v)
	}
	for _, name := range files(t, dir) {
		if strings.HasPrefix(name, "tmp/") || strings.HasPrefix(name, "locks/") {
			t.Errorf("%s was left behind", name)
		}
	}
}

// TestVerifyFindsEveryDamage changes single bytes at random places of every file.
func TestVerifyFindsEveryDamage(t *testing.T) {
	r, dir := dirRepository(t)
	f := newFakeCluster(3)
	mustCreate(t, r, f)
	f.add(2)
	mustCreate(t, r, f)
	rnd := rand.New(rand.NewPCG(1, 2))
	damages := 0
	for _, name := range files(t, dir) {
		path := filepath.Join(dir, name)
		sound, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		offsets := []int{0, 4, 5, 6, 7, 8, len(sound) / 2, len(sound) - 33, len(sound) - 1}
		for range 6 {
			offsets = append(offsets, rnd.IntN(len(sound)))
		}
		for _, at := range offsets {
			bad := slices.Clone(sound)
			bad[at] ^= byte(1 << rnd.IntN(8))
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			damages++
			if name == infoName {
				if _, err := Open(wait(t), r.store); err == nil {
					t.Errorf("%s: byte %d is %q instead of %q: the repository opens", name, at, bad[at], sound[at])
				}
				continue
			}
			v := mustVerify(t, r)
			found := slices.ContainsFunc(v.Findings, func(x Finding) bool {
				return x.Object == filepath.ToSlash(name) && x.Serious() && len(x.Backups) > 0
			})
			if !found {
				t.Errorf("%s: byte %d of %d changed: not found; findings %+v", name, at, len(sound), v.Findings)
			}
		}
		if err := os.WriteFile(path, sound, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if damages < 50 {
		t.Errorf("only %d changes were tried", damages)
	}
	if v := mustVerify(t, r); len(v.Findings) > 0 {
		t.Errorf("after the bytes were restored: %+v", v.Findings)
	}
}

func TestVerifyFindsMissingAndExtraFiles(t *testing.T) {
	r, dir := dirRepository(t)
	made := mustCreate(t, r, newFakeCluster(2))
	all := files(t, dir)
	for _, name := range all {
		path := filepath.Join(dir, name)
		sound, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, bad := range map[string][]byte{
			"gone": nil, "cut": sound[:len(sound)-1], "longer": append(slices.Clone(sound), 0),
		} {
			if bad == nil {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, bad, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if name == infoName {
				if _, err := Open(wait(t), r.store); err == nil {
					t.Errorf("%s %s: the repository opens", name, what)
				}
				continue
			}
			if v := mustVerify(t, r); !v.Serious() && name != filepath.FromSlash(manifestName(made.ID)) {
				t.Errorf("%s %s: not found", name, what)
			} else if len(v.Backups) > 0 && name == filepath.FromSlash(manifestName(made.ID)) {
				t.Errorf("%s %s: the backup still counts", name, what)
			}
		}
		if err := os.WriteFile(path, sound, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, kind := range map[string]string{
		"notes.txt":                                        Foreign,
		"segments/01CLUSTER/1-1/x.parquet":                 Foreign,
		"backups/other.manifest":                           Foreign,
		"metadata/" + strings.Repeat("0", 64) + ".records": Unused,
		"segments/01CLUSTER/1-1/0000000000000009-5-00000000-" + strings.Repeat("0", 64) + segmentSuffix: Unused,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
		v := mustVerify(t, r)
		if len(v.Findings) != 1 || v.Findings[0].Kind != kind || v.Findings[0].Object != name || v.Serious() {
			t.Errorf("%s: %+v, want %s", name, v.Findings, kind)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInterruptedReads makes reads from the cluster fail at random. They must continue from the same position.
func TestInterruptedReads(t *testing.T) {
	r, _ := dirRepository(t)
	f := newFakeCluster(4)
	f.cut = func(n int) error {
		if n%5 == 3 {
			return errors.New("connection reset")
		}
		return nil
	}
	total := int64(0)
	for _, list := range f.shards {
		for _, s := range list {
			total += int64(len(s.data))
		}
	}
	mustCreate(t, r, f)
	if f.bytes != total {
		t.Errorf("%d bytes were read, the segments have %d; want nothing read twice", f.bytes, total)
	}
	if v := mustVerify(t, r); len(v.Findings) > 0 {
		t.Errorf("%+v", v.Findings)
	}
}

// TestInterruptedBackupContinues interrupts a backup in the middle. The next one must reuse the files that the
// first one has stored.
func TestInterruptedBackupContinues(t *testing.T) {
	r, dir := dirRepository(t)
	f := newFakeCluster(5)
	f.cut = func(n int) error {
		if n > 20 {
			return final{errors.New("killed")}
		}
		return nil
	}
	if _, err := r.Create(wait(t), CreateConfig{Source: f, Parallel: 1}); err == nil {
		t.Fatal("the interrupted backup did not fail")
	}
	sent := 0
	for _, name := range files(t, dir) {
		if strings.HasPrefix(name, "segments/") {
			sent++
		}
	}
	if list, err := r.List(wait(t)); err != nil || len(list) > 0 || sent == 0 {
		t.Fatalf("after an interrupted backup: %d backups (%v), %d segments; want none and some", len(list), err, sent)
	}
	f.cut = nil
	if made := mustCreate(t, r, f); made.NewSegments != int64(10-sent) {
		t.Errorf("%d segments were sent again, although %d of 10 were stored", made.NewSegments, sent)
	}
}

// TestPinsAreLost makes the shards drop their pins in the middle.
func TestPinsAreLost(t *testing.T) {
	r, _ := dirRepository(t)
	f := newFakeCluster(5)
	f.cut = func(n int) error {
		if n == 7 || n == 19 {
			f.add(1) // later segments are in the new list
			f.lose()
			return errors.New("connection reset")
		}
		return nil
	}
	made := mustCreate(t, r, f)
	if made.Segments < 12 || made.NewSegments > 12 {
		t.Errorf("%+v; want 12 segments, none sent twice", made)
	}
	if v := mustVerify(t, r); len(v.Findings) > 0 {
		t.Errorf("%+v", v.Findings)
	}
}

// TestDamagedSegment makes a shard send other bytes than it wrote, with and without noticing the
// damage.
func TestDamagedSegment(t *testing.T) {
	for name, hurt := range map[string]func(*fakeSegment){
		"unknown": func(s *fakeSegment) { s.data[77] ^= 1 },
		"known":   func(s *fakeSegment) { s.meta.Damaged = true },
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := dirRepository(t)
			f := newFakeCluster(2)
			hurt(&f.shards[2][1])
			made := mustCreate(t, r, f)
			if !slices.Equal(made.Damaged, []string{"segment 2 of shard 2, 10 rows"}) || made.Segments != 3 || made.Rows != 30 {
				t.Errorf("%+v; want 3 segments, and a report of the damaged one", made)
			}
			if v := mustVerify(t, r); v.Serious() {
				t.Errorf("%+v", v.Findings)
			}

			// A segment that an earlier backup has stored is taken from the repository.
			r, _ = dirRepository(t)
			f = newFakeCluster(2)
			mustCreate(t, r, f)
			hurt(&f.shards[2][1])
			if made := mustCreate(t, r, f); len(made.Damaged) > 0 || made.Segments != 4 || made.NewSegments != 0 {
				t.Errorf("%+v; want all 4 segments, from the repository", made)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	r, dir := dirRepository(t)
	f := newFakeCluster(2)
	first := mustCreate(t, r, f)
	f.shards[1] = f.shards[1][1:] // compacted away
	second := mustCreate(t, r, f)
	if got, err := r.Prune(wait(t), PruneConfig{}); err != nil || got.Objects != 0 {
		t.Fatalf("prune of a repository without garbage: %+v, %v", got, err)
	}
	if err := r.Delete(wait(t), "20000101T000000000Z-nobody"); err == nil {
		t.Error("a backup that does not exist was deleted")
	}
	if got, err := r.Prune(wait(t), PruneConfig{KeepLast: 1, DryRun: true}); err != nil || len(got.Backups) != 1 ||
		got.Objects != 1 {
		t.Errorf("dry run: %+v, %v; want the first backup and one segment", got, err)
	}
	// Add a recent upload, an old upload, and a foreign file.
	for name, age := range map[string]time.Duration{"tmp/NEW": 0, "tmp/OLD": 48 * time.Hour, "notes.txt": 48 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, nil, 0o600),
			os.Chtimes(path, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.Prune(wait(t), PruneConfig{KeepLast: 1})
	if err != nil || !slices.Equal(got.Backups, []string{first.ID}) || got.Objects != 2 {
		t.Errorf("prune: %+v, %v; want the first backup, its segment and the old file", got, err)
	}
	left := strings.Join(files(t, dir), "\n")
	for _, name := range []string{"tmp/NEW", "notes.txt"} {
		if !strings.Contains(left, name) {
			t.Errorf("%s was removed", name)
		}
	}
	v := mustVerify(t, r)
	if v.Serious() || !slices.Equal(v.Backups, []string{second.ID}) {
		t.Errorf("after prune: %+v", v)
	}
}

// TestPruneDuringOtherWork tries to prune during a backup, and to back up during a prune. Both must fail.
func TestPruneDuringOtherWork(t *testing.T) {
	r, dir := dirRepository(t)
	f := newFakeCluster(2)
	f.cut = func(n int) error {
		if n == 1 {
			if _, err := r.Prune(wait(t), PruneConfig{}); !errors.Is(err, ErrBusy) {
				t.Errorf("prune during a backup: %v, want ErrBusy", err)
			}
		}
		return nil
	}
	mustCreate(t, r, f)
	held, err := r.lock(wait(t), lockPrune)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Create(wait(t), CreateConfig{Source: f}); !errors.Is(err, ErrBusy) {
		t.Errorf("backup during a prune: %v, want ErrBusy", err)
	}
	held.release()

	// The lock of a killed process is valid for a while.
	dead := filepath.Join(dir, filepath.FromSlash(lockPrefix), "20260101T000000Z-killed.json")
	for age, busy := range map[time.Duration]bool{time.Minute: true, time.Hour: false} {
		text := []byte(`{"kind":"prune","host":"h","process":7,"started":"2026-01-01T00:00:00Z"}`)
		if err := errors.Join(os.MkdirAll(filepath.Dir(dead), 0o750), os.WriteFile(dead, text, 0o600),
			os.Chtimes(dead, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
		_, err := r.Create(wait(t), CreateConfig{Source: f})
		if errors.Is(err, ErrBusy) != busy {
			t.Errorf("backup with a lock of %s ago: %v, busy should be %t", age, err, busy)
		}
		if busy && !strings.Contains(fmt.Sprint(err), "process 7 on h") {
			t.Errorf("the error does not contain the holder of the lock: %v", err)
		}
	}
}

// TestPruneKeepsWhatUnreadableBackupsMayNeed damages a manifest. Prune must remove nothing.
func TestPruneKeepsWhatUnreadableBackupsMayNeed(t *testing.T) {
	r, dir := dirRepository(t)
	made := mustCreate(t, r, newFakeCluster(2))
	path := filepath.Join(dir, filepath.FromSlash(manifestName(made.ID)))
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw[:len(raw)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Prune(wait(t), PruneConfig{KeepLast: 1}); err == nil {
		t.Errorf("pruned %+v although the files of backup %s are unknown", got, made.ID)
	}
	if list, err := r.List(wait(t)); err != nil || len(list) != 1 || list[0].Fault == "" {
		t.Errorf("list: %+v, %v; want the backup with its fault", list, err)
	}
	if err := r.Delete(wait(t), made.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Prune(wait(t), PruneConfig{}); err != nil || got.Objects != 5 {
		t.Errorf("prune: %+v, %v; want the 5 files of the deleted backup", got, err)
	}
}

func TestOpenFaults(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(dir, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(wait(t), st); !errors.Is(err, ErrNoRepository) {
		t.Errorf("open of an empty directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenOrCreate(wait(t), st); err == nil || !strings.Contains(err.Error(), "letter.txt") {
		t.Errorf("create a repository among other files: %v", err)
	}
	newer := info{Format: infoFormat, Version: 2, ID: "x", Created: "y"}.encode()
	if err := os.WriteFile(filepath.Join(dir, infoName), newer, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(wait(t), st); !errors.Is(err, ErrNewer) {
		t.Errorf("open of a newer repository: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, infoName), []byte(`{"x`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(wait(t), st); err == nil || !strings.Contains(err.Error(), "put the file back, or copy") {
		t.Errorf("open of a repository whose file is damaged: %v", err)
	}
	for _, location := range []string{"", "ftp://x/y", "s3://", "s3://user:pw@bucket/x"} {
		_, err := store.Open(location, store.Config{})
		if err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("location %q: %v", location, err)
		}
	}
}

func TestFind(t *testing.T) {
	r, _ := dirRepository(t)
	if _, err := r.Find(wait(t), ""); err == nil {
		t.Error("the newest of no backups")
	}
	base := time.Date(2026, 7, 4, 2, 0, 0, 0, time.UTC)
	var ids []string
	for i := range 3 {
		r.now = func() time.Time { return base.Add(time.Duration(i) * time.Hour) }
		ids = append(ids, mustCreate(t, r, newFakeCluster(1)).ID)
	}
	for given, want := range map[string]string{
		"": ids[2], "latest": ids[2], ids[1]: ids[1], "20260704T02": ids[0], ids[1][:12]: ids[1],
	} {
		if b, err := r.Find(wait(t), given); err != nil || b.Id != want {
			t.Errorf("find %q: %v, %v; want %s", given, b.GetId(), err, want)
		}
	}
	for _, given := range []string{"2026", "2027", ids[0] + "x", "../" + ids[0]} {
		if b, err := r.Find(wait(t), given); err == nil {
			t.Errorf("find %q: %s", given, b.Id)
		}
	}
}

// TestFileOfANewRepository reads the backups of a repository that has lost its own file, with the file of another
// repository. Nothing else must depend on that file.
func TestFileOfANewRepository(t *testing.T) {
	r, dir := dirRepository(t)
	made := mustCreate(t, r, newFakeCluster(2))
	_, other := dirRepository(t)
	taken, err := os.ReadFile(filepath.Join(other, infoName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, infoName), taken, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Open(wait(t), r.store)
	if err != nil {
		t.Fatal(err)
	}
	if v := mustVerify(t, again); v.Serious() || !slices.Equal(v.Backups, []string{made.ID}) {
		t.Errorf("%+v", v)
	}
}
