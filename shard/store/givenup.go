package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// GivenUpFile lists, in the folder of a shard, the segments whose rows an operator has given up. The counters of the
// log still have these rows, so an offload has to say that they are left out.
const GivenUpFile = "GIVENUP"

// GivenUp is a segment whose rows were given up.
type GivenUp struct {
	// Segment is the name of its file, Order the order of its rows in this replica.
	Segment string              `json:"segment"`
	Order   uint64              `json:"order"`
	Tables  []segment.TableSpan `json:"tables"`
}

// ReadGivenUp returns what was given up in the folder of a shard.
func ReadGivenUp(fsys vfs.FS, dir string) (list []GivenUp, err error) {
	name := filepath.Join(dir, GivenUpFile)
	b, err := vfs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which rows were given up: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	for lines.Scan() {
		var g GivenUp
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			return nil, fmt.Errorf("read which rows were given up: %s: %w", name, err)
		}
		list = append(list, g)
	}
	return list, lines.Err()
}

// AddGivenUp notes that the rows of a segment are given up, before it is removed from the manifest.
func AddGivenUp(fsys vfs.FS, dir string, m *segment.Meta) error {
	list, err := ReadGivenUp(fsys, dir)
	if err != nil {
		return err
	}
	tables := m.Tables
	if !m.Shared() {
		tables = []segment.TableSpan{{TableID: m.TableID, Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime}}
	}
	var b []byte
	for _, g := range append(list, GivenUp{m.FileName(), m.Order, tables}) {
		line, err := json.Marshal(g)
		if err != nil {
			return err
		}
		b = append(append(b, line...), '\n')
	}
	return vfs.Publish(fsys, filepath.Join(dir, GivenUpFile), b)
}
