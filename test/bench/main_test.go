package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDataSetsAreRepeatable checks that the same rows give the same bytes, so that figures are
// comparable.
func TestDataSetsAreRepeatable(t *testing.T) {
	for _, set := range []string{setNginx, setApp, setAccess} {
		var texts [2][]byte
		for i := range texts {
			file, err := dataSet(t.TempDir(), set, 2000)
			if err != nil {
				t.Fatal(err)
			}
			if texts[i], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(texts[0], texts[1]) {
			t.Errorf("%s: two sets of the same rows differ", set)
		}
		lines := bytes.Split(bytes.TrimSuffix(texts[0], []byte("\n")), []byte("\n"))
		if len(lines) != 2000 {
			t.Errorf("%s: %d lines of 2000", set, len(lines))
		}
		for i, l := range lines {
			if set != setAccess && !json.Valid(l) {
				t.Fatalf("%s: line %d is not JSON: %s", set, i+1, l)
			}
		}
	}
}

// TestBodies checks that bodies contain every row once, with any end of the last line.
func TestBodies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(file, []byte("a\nb\nc\nd\ne"), 0o600); err != nil {
		t.Fatal(err)
	}
	bodies, err := readBodies(file, workload{batch: 2})
	if err != nil {
		t.Fatal(err)
	}
	var rows int
	var all []byte
	for _, b := range bodies {
		rows += b.rows
		all = append(all, b.data...)
	}
	if rows != 5 || string(all) != "a\nb\nc\nd\ne" {
		t.Errorf("got %d rows, %q", rows, all)
	}
	if bodies, err = readBodies(file, workload{batch: 2, rows: 3}); err != nil || len(bodies) != 2 {
		t.Errorf("bounded to 3 rows: %d bodies, %v", len(bodies), err)
	}
}

// TestMedianPair checks that the printed run is the one with the median ratio, not the one with the median speed.
func TestMedianPair(t *testing.T) {
	run := func(base, now int64) pair {
		return pair{result{rows: base, cpu: time.Second}, result{rows: now, cpu: time.Second}}
	}
	p := medianPair([]pair{run(100, 300), run(900, 900), run(200, 400)})
	if p.base.rows != 200 || p.ratio() != 2 {
		t.Errorf("%d rows, ratio %v", p.base.rows, p.ratio())
	}
}
