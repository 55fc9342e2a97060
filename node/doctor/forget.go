package doctor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"cordwood/proto/column"
	"cordwood/proto/words"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// readPiece is the number of rows that are read at a time.
const readPiece = 4096

// readRows reads a segment to its end and compares the number of rows with the manifest.
func readRows(r *segment.Reader, m *segment.Meta) error {
	rows := int64(0)
	for {
		var b *column.Batch
		b, err := r.Next(readPiece)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		rows += int64(b.Rows)
	}
	if rows != m.Rows {
		return fmt.Errorf("segment %s has %s, but %d according to the manifest",
			m.FileName(), words.Count(rows, "row"), m.Rows)
	}
	return nil
}

// forget removes a damaged segment from its shard's manifest, and moves the file, if there is one, to lost+found.
func (d *doctor) forget(file string) (err error) {
	if filepath.IsAbs(file) {
		rel, err := filepath.Rel(d.cfg.DataDir, file)
		if err != nil {
			return err
		}
		file = rel
	}
	segments, name := filepath.Split(filepath.Clean(file))
	dir := filepath.Dir(filepath.Clean(segments))
	id, err := strconv.ParseUint(filepath.Base(dir), 10, 32)
	if err != nil || filepath.Base(segments) != "segments" {
		return errors.New("write it as the doctor reports it, such as shards/1/segments/0000000000000001.parquet")
	}
	m, err := manifest.Open(manifest.Config{FS: vfs.OS, Dir: d.path(dir), ShardID: uint32(id)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	list := m.State().Segments
	i := slices.IndexFunc(list, func(m segment.Meta) bool { return m.FileName() == name })
	if i < 0 {
		return errors.New("the manifest does not list it")
	}
	if err := readSegment(d.path(segments), &list[i]); err == nil {
		return errors.New("it is not damaged: no rows were given up")
	}
	rows := list[i].Rows
	if err := store.AddGivenUp(vfs.OS, d.path(dir), &list[i]); err != nil {
		return err
	}
	d.know(filepath.Join(dir, store.GivenUpFile))
	if err := m.Commit(&manifest.Edit{Remove: []uint64{list[i].ID}}); err != nil {
		return err
	}
	lost := filepath.Join(dir, "lost+found")
	if err := d.setAside(file, segments, lost); err != nil {
		return err
	}
	d.find(Note, file, "", "%s given up, as requested; the rest of the file is in %s",
		words.Say(rows, "row of it was", "rows of it were"), lost)
	return nil
}

// setAside moves the file of a segment, if there is one, from the folder of segments to another one, and removes the
// mark that it is damaged.
func (d *doctor) setAside(file, segments, lost string) error {
	if err := vfs.OS.MkdirAll(d.path(lost)); err != nil {
		return err
	}
	err := os.Rename(d.path(file), filepath.Join(d.path(lost), filepath.Base(file)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(d.path(file + store.DamagedSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, changed := range []string{segments, lost} {
		if err := vfs.OS.SyncDir(d.path(changed)); err != nil {
			return err
		}
	}
	return nil
}
