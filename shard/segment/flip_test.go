package segment

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cordwood/shard/vfs"
)

// TestFlippedBits damages every byte of a file, one at a time. The engine must fail or return the
// same rows as before. Check must find every damaged byte.
func TestFlippedBits(t *testing.T) {
	tab := tableOf(t, "ts:TimestampMillisecond:TIMESTAMP", "n:Int64", "d:String", "s:String", "f:Float64")
	var rows []row
	for i := range 64 {
		r := row{
			"ts": i, "n": i * i * 7919, "d": fmt.Sprint("d", i%3), "s": fmt.Sprint("value ", i*7919), "f": float64(i) / 3,
		}
		if i%5 == 0 {
			r = row{"ts": i}
		}
		rows = append(rows, r)
	}
	dir := t.TempDir()
	m := write(t, dir, tab, batchOf(t, tab, rows...))[0]
	path := filepath.Join(dir, FileName(m.ID))
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	read := func(data []byte, n int) (string, error) {
		name := filepath.Join(dir, fmt.Sprintf("x%d", n))
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(name)
		var out string
		err := db.QueryRow(fmt.Sprintf(
			`select string_agg(concat_ws(',', ts, n, d, s, f), '|' order by ts) from read_parquet('%s')`, name)).Scan(&out)
		return out, err
	}
	want, err := read(sound, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantRows, err := readRows(dir, &m)
	if err != nil {
		t.Fatal(err)
	}
	// The manifest contains a checksum of the footer, and every start compares it.
	footer := len(sound) - 8 - int(binary.LittleEndian.Uint32(sound[len(sound)-8:]))
	for i := range footer {
		data := bytes.Clone(sound)
		data[i] ^= 1 << (i % 8)
		got, err := read(data, i+1)
		if err == nil && got != want {
			t.Errorf("byte %d of %d: other rows", i, len(sound))
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Check(vfs.OS, dir, &m, true); err == nil {
			t.Errorf("byte %d of %d: Check does not find the damage", i, len(sound))
		}
		rows, err := readRows(dir, &m)
		corrupt := (*ErrCorrupt)(nil)
		if err == nil && !slices.Equal(rows, wantRows) || err != nil && !errors.As(err, &corrupt) {
			t.Errorf("byte %d of %d: a reader returns other rows, or the error is %v", i, len(sound), err)
		}
		if corrupt != nil && (corrupt.File != path || corrupt.Want == "" || corrupt.Got == "") {
			t.Errorf("byte %d of %d: the error does not say which part is damaged: %v", i, len(sound), err)
		}
	}
}

// readRows returns the rows that a Reader returns.
func readRows(dir string, m *Meta) ([]string, error) {
	r, err := Open(vfs.OS, filepath.Join(dir, FileName(m.ID)), m)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var lines []string
	for {
		b, err := r.Next(1000)
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, cells(b)...)
	}
}
