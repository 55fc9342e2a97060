package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// replaced is a server with the tables t and u, and a repository with a backup of them. After the backup, a row was
// added to t.
type replaced struct {
	*Node
	repository string
	files      []string // file names of segments
}

const replacedRows = 5000

func newReplaced(t *testing.T) *replaced {
	t.Helper()
	r := &replaced{
		Node: New(t, "--shards", "2", "--shard-flush-bytes", "1MiB"), repository: filepath.Join(t.TempDir(), "repository"),
	}
	r.Start()
	random := rand.New(rand.NewPCG(1, 2))
	for _, table := range []string{"t", "u"} {
		var body bytes.Buffer
		for seq := range replacedRows {
			text := make([]byte, 50) // random text, which cannot be compressed
			for i := range text {
				text[i] = byte(random.Uint32())
			}
			fmt.Fprintf(&body, `{"seq":%d,"text":"%x"}`+"\n", seq, text)
		}
		if err := r.Ingest(table, body.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	backUp(t, r.Node, r.repository)
	if err := r.Ingest("t", []byte(`{"seq":-1,"text":"after the backup"}`)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(filepath.Join(r.repository, "segments"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			r.files = append(r.files, path)
		}
		return err
	})
	if err != nil || len(r.files) == 0 {
		t.Fatalf("segments of the backup: %v, %v", r.files, err)
	}
	return r
}

func (r *replaced) restore(more ...string) []string {
	return append([]string{"restore", r.repository, "--server", r.HTTP, "--replace"}, more...)
}

func (r *replaced) count(t *testing.T, table string) int64 {
	t.Helper()
	return number(t, r.Rows(t, "SELECT count(*) FROM "+table)[0][0])
}

// aside returns the name of the table that a restore fills in place of table, or "".
func (r *replaced) aside(table string) string {
	rows, err := r.Query("SHOW TABLES")
	if err != nil {
		return ""
	}
	for _, row := range rows {
		name := fmt.Sprint(row[0])
		if strings.HasPrefix(name, "_restore_") && strings.HasSuffix(name, "_"+table) {
			return name
		}
	}
	return ""
}

// TestReplaceOfDamagedBackup restores over tables from incomplete backups. The tables must not
// change.
func TestReplaceOfDamagedBackup(t *testing.T) {
	t.Parallel()
	r := newReplaced(t)
	for _, tt := range []struct {
		name, want string
		harm       func(file string) error
	}{
		{"a changed byte", "is missing or damaged", func(file string) error {
			data, err := os.ReadFile(file)
			if err == nil {
				data[len(data)/2] ^= 1
				err = os.WriteFile(file, data, 0o600)
			}
			return err
		}},
		{"a file cut off", "bytes, ", func(file string) error { return os.Truncate(file, 100) }},
		{"no file", "it is missing", os.Remove},
	} {
		file := r.files[0]
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tt.harm(file); err != nil {
			t.Fatal(err)
		}
		_, err = command(t, r.restore()...)
		if err == nil || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), filepath.Base(file)) || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: %v, want an error with %s and %q", tt.name, err, filepath.Base(file), tt.want)
		}
		if n := r.count(t, "t"); n != replacedRows+1 {
			t.Errorf("%s: t has %d rows, want %d", tt.name, n, replacedRows+1)
		}
		if n := r.count(t, "u"); n != replacedRows {
			t.Errorf("%s: u has %d rows, want %d", tt.name, n, replacedRows)
		}
		if aside := r.aside("t") + r.aside("u"); aside != "" {
			t.Errorf("%s: %s still exists", tt.name, aside)
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplaceIsOneStep kills a restore that replaces tables, and reads the tables continuously. They must have their
// former rows until they have the rows of the backup, and never other rows.
func TestReplaceIsOneStep(t *testing.T) {
	t.Parallel()
	r := newReplaced(t)
	first := exec.Command(Binary(t), r.restore("--parallel", "1", "--rate", "100KiB")...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Process.Kill() }()
	until(t, "a table to be filled under a temporary name", func() bool {
		for _, table := range []string{"t", "u"} {
			if aside := r.aside(table); aside != "" {
				rows, err := r.Query("SELECT count(*) FROM " + aside)
				if err == nil && number(t, rows[0][0]) > 0 {
					return true
				}
			}
		}
		return false
	})
	aside := r.aside("t")
	if err := r.Ingest(aside, []byte(`{"seq":-2}`)); err == nil || !strings.Contains(err.Error(), "is being restored") {
		t.Errorf("a row for %s: %v, want an error that it is being restored", aside, err)
	}
	_ = first.Process.Kill()
	if first.Wait() == nil {
		t.Fatal("the restore was done before it was killed")
	}
	if n := r.count(t, "t"); n != replacedRows+1 {
		t.Errorf("after a restore that was killed t has %d rows, want %d", n, replacedRows+1)
	}

	// Another backup replaces the tables while they are read. The remains of the first restore are
	// removed.
	backUp(t, r.Node, r.repository)
	if err := r.Ingest("t", []byte(`{"seq":-3,"text":"after the second backup"}`)); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	readers.Go(func() {
		for !stop.Load() {
			rows, err := r.Query("SELECT count(*), min(seq) FROM t")
			if err != nil {
				t.Errorf("a query while t is replaced: %v", err)
				return
			}
			if got := fmt.Sprint(rows[0]); got != fmt.Sprintf("[%d -3]", replacedRows+2) &&
				got != fmt.Sprintf("[%d -1]", replacedRows+1) {
				t.Errorf("a query while t is replaced: %s", got)
				return
			}
		}
	})
	out, err := command(t, r.restore()...)
	stop.Store(true)
	readers.Wait()
	if err != nil || !strings.Contains(out, "2 tables were replaced") ||
		!strings.Contains(out, "from earlier restores dropped: ") || !strings.Contains(out, aside) {
		t.Errorf("restore after one that was killed: %v\n%s", err, out)
	}
	if n := r.count(t, "t"); n != replacedRows+1 {
		t.Errorf("t has %d rows, want %d", n, replacedRows+1)
	}
	if aside := r.aside("t") + r.aside("u"); aside != "" {
		t.Errorf("%s still exists", aside)
	}
	if err := r.Ingest("t", []byte(`{"seq":-4,"text":"it takes rows"}`)); err != nil {
		t.Errorf("a row for the table in its place: %v", err)
	}
}

// TestReplaceFailsAtTheEnd empties a table while it is restored. The step that would replace the table must be
// refused, and the next restore must succeed.
func TestReplaceFailsAtTheEnd(t *testing.T) {
	t.Parallel()
	r := newReplaced(t)
	slow := exec.Command(Binary(t), r.restore("--table", "t", "--parallel", "1", "--rate", "200KiB")...)
	var stderr bytes.Buffer
	slow.Stderr = &stderr
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Process.Kill() }()
	until(t, "a table to be filled under a temporary name", func() bool { return r.aside("t") != "" })
	r.Rows(t, "TRUNCATE TABLE t")
	if err := r.Ingest("t", []byte(`{"seq":7,"text":"new"}`)); err != nil {
		t.Fatal(err)
	}
	exit := (*exec.ExitError)(nil)
	if err := slow.Wait(); !errors.As(err, &exit) ||
		!strings.Contains(stderr.String(), "was created or truncated while the backup was restored") ||
		!strings.Contains(stderr.String(), "no table was replaced") {
		t.Fatalf("restore of a table that was emptied meanwhile: %v: %s", err, stderr.String())
	}
	if n := r.count(t, "t"); n != 1 {
		t.Errorf("t has %d rows, want the one that was written after it was emptied", n)
	}
	out := mustCommand(t, r.restore("--table", "t")...)
	if !strings.Contains(out, "1 table was complete") || !strings.Contains(out, "1 table was replaced") {
		t.Errorf("the next run: %s", out)
	}
	if n := r.count(t, "t"); n != replacedRows {
		t.Errorf("t has %d rows, want %d", n, replacedRows)
	}
	// Without rows, the table exists, is empty, and accepts rows.
	mustCommand(t, r.restore("--table", "u", "--metadata-only")...)
	if n := r.count(t, "u"); n != 0 {
		t.Errorf("u has %d rows, want none", n)
	}
	if err := r.Ingest("u", []byte(`{"seq":1,"text":"x"}`)); err != nil {
		t.Error(err)
	}
}
