// Package iceberg turns the objects of a table into the files of an Apache Iceberg table: schemas, manifests, manifest
// lists and metadata files. It has no I/O: callers store the files that it returns, and give it those that it needs.
//
// A table has one manifest for each day, so a commit writes only the manifests of days that changed. DESIGN.md of the
// package above says who commits, and when.
package iceberg

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"cordwood/proto/schema"
)

const (
	// keepSnapshots is how long snapshots are kept that are not the current one, and expireAfter the age from which a
	// commit is made only to remove them.
	keepSnapshots = 24 * time.Hour
	expireAfter   = 25 * time.Hour
	// KeepFiles is how long files stay that no snapshot needs any more.
	KeepFiles = 48 * time.Hour
	// maxLog is the maximum number of earlier metadata files in a metadata file.
	maxLog = 500
)

// State is a table as it was committed.
type State struct {
	Metadata *Metadata
	// location is where Metadata lies.
	location  string
	manifests []manifest
}

// manifest is a manifest with its entries. It is not changed in place.
type manifest struct {
	manifestFile
	group   group
	entries []entry
}

// group identifies the files that are in one manifest.
type group struct {
	spec int32
	day  int32 // 0 for spec 1
}

func (f *File) group() group {
	if f.Days {
		return group{spec: 1}
	}
	return group{day: f.Day}
}

// entry is a file in a manifest.
type entry struct {
	file     File
	snapshot int64
	sequence int64
	firstRow int64
}

// Input is what a commit shows.
type Input struct {
	Table  *schema.Table
	Format Format
	// Files are all objects that are shown, each with its own path.
	Files []File
	// Held means that the present definition cannot be shown: the table keeps its schema, and Files are only those that
	// are left of what it showed.
	Held bool
	// Location is the absolute location of the table, without a slash at the end.
	Location string
	// Version is the number of the commit.
	Version uint64
	Now     time.Time
	// UUID returns a new UUID, and ID a new positive number.
	UUID func() string
	ID   func() int64
}

// Output is a commit that is to be stored.
type Output struct {
	// Files are the files by their names below the location of the table, all new.
	Files map[string][]byte
	// Name is the name of the metadata file among them.
	Name  string
	State *State
}

// Next returns the commit that follows prev, which is nil for the first commit of a table. It returns nil if nothing
// has changed.
func Next(prev *State, in *Input) (*Output, error) {
	c := &commit{in: in, out: &Output{Files: map[string][]byte{}}, now: in.Now.UnixMilli()}
	if err := c.begin(prev); err != nil {
		return nil, err
	}
	changed, err := c.schema(prev)
	if err != nil {
		return nil, err
	}
	more, err := c.snapshot(prev)
	if err != nil {
		return nil, err
	}
	expired := c.expire(prev)
	if prev != nil && !changed && !more && !expired {
		return nil, nil
	}
	return c.finish(prev)
}

type commit struct {
	in  *Input
	out *Output
	m   *Metadata
	now int64
	// manifests are those of the new state.
	manifests []manifest
}

// begin makes the metadata of the commit from the previous ones.
func (c *commit) begin(prev *State) error {
	if prev == nil {
		index := c.in.Table.TimeIndex()
		c.m = &Metadata{
			Format: c.in.Format, UUID: c.in.UUID(), Location: c.in.Location, Schema: -1,
			Specs: []Spec{
				{ID: 0, Fields: []SpecField{{
					Source: c.in.Format.fieldID(index), ID: dayField, Name: "time_day", Transform: "day",
				}}},
				{ID: 1, Fields: []SpecField{}},
			},
			LastPartition: dayField, Orders: []SortOrder{{Fields: []struct{}{}}}, Refs: map[string]Ref{},
			Properties: map[string]string{"write.parquet.compression-codec": "zstd"},
		}
		if c.in.Format >= 3 {
			c.m.NextRow = new(int64)
		}
		return nil
	}
	b, err := json.Marshal(prev.Metadata)
	if err != nil {
		return err
	}
	if c.m, err = ParseMetadata(b); err != nil {
		return err
	}
	c.m.Location = c.in.Location
	c.now = max(c.now, c.m.UpdatedMillis) // times in metadata do not go back
	return nil
}

// schema makes the definition of the table the current schema, unless it is held.
func (c *commit) schema(prev *State) (changed bool, err error) {
	if c.in.Held && prev != nil {
		return false, nil
	}
	s, err := NewSchema(c.in.Table, c.in.Format)
	if err != nil {
		return false, err
	}
	if now := c.m.schema(); now != nil && now.same(s) {
		return false, nil
	}
	for _, f := range s.Fields {
		c.m.LastColumn = max(c.m.LastColumn, f.ID)
	}
	c.m.Schemas = slices.DeleteFunc(c.m.Schemas, func(had *Schema) bool { return had.ID == s.ID })
	c.m.Schemas = append(c.m.Schemas, s)
	c.m.Schema = s.ID
	return true, nil
}

// snapshot adds a snapshot if the files have changed.
func (c *commit) snapshot(prev *State) (changed bool, err error) {
	want := make(map[string]*File, len(c.in.Files))
	for i := range c.in.Files {
		f := &c.in.Files[i]
		if want[f.Path] != nil {
			return false, fmt.Errorf("the file %s is listed twice", f.Path)
		}
		want[f.Path] = f
	}
	touched := map[group]bool{}
	if prev != nil {
		for i := range prev.manifests {
			for j := range prev.manifests[i].entries {
				e := &prev.manifests[i].entries[j]
				if want[e.file.Path] == nil {
					touched[prev.manifests[i].group] = true
				}
				delete(want, e.file.Path)
			}
		}
	}
	added := map[group][]File{}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		f := want[path]
		added[f.group()] = append(added[f.group()], *f)
		touched[f.group()] = true
	}
	if len(touched) == 0 {
		if prev != nil {
			c.manifests = prev.manifests
		}
		return false, nil
	}
	w := &snapshotWriter{commit: c, s: Snapshot{
		ID: c.in.ID(), Sequence: c.m.LastSequence + 1, Millis: c.now, Schema: c.m.Schema,
	}}
	return true, w.write(prev, touched, added)
}

// expire removes old snapshots, and schemas that no snapshot has. It reports whether that alone is worth a commit.
func (c *commit) expire(prev *State) (due bool) {
	current := c.m.Snapshot
	kept := map[int64]bool{}
	used := map[int32]bool{c.m.Schema: true}
	c.m.Snapshots = slices.DeleteFunc(c.m.Snapshots, func(s Snapshot) bool {
		if current != nil && s.ID != *current && s.Millis < c.now-keepSnapshots.Milliseconds() {
			due = due || s.Millis < c.now-expireAfter.Milliseconds()
			return true
		}
		kept[s.ID], used[s.Schema] = true, true
		return false
	})
	c.m.SnapshotLog = slices.DeleteFunc(c.m.SnapshotLog, func(l SnapshotLog) bool { return !kept[l.Snapshot] })
	c.m.Schemas = slices.DeleteFunc(c.m.Schemas, func(s *Schema) bool { return !used[s.ID] })
	return due && prev != nil
}

// finish writes the metadata file.
func (c *commit) finish(prev *State) (*Output, error) {
	if prev != nil {
		c.m.MetadataLog = append(c.m.MetadataLog, MetadataLog{prev.Metadata.UpdatedMillis, prev.location})
	}
	oldest := c.now - keepSnapshots.Milliseconds()
	c.m.MetadataLog = slices.DeleteFunc(c.m.MetadataLog, func(l MetadataLog) bool { return l.Millis < oldest })
	if n := len(c.m.MetadataLog); n > maxLog {
		c.m.MetadataLog = slices.Delete(c.m.MetadataLog, 0, n-maxLog)
	}
	c.m.UpdatedMillis = c.now
	c.m.Snapshots = nonNil(c.m.Snapshots)
	c.m.SnapshotLog, c.m.MetadataLog = nonNil(c.m.SnapshotLog), nonNil(c.m.MetadataLog)
	b, err := json.Marshal(c.m)
	if err != nil {
		return nil, err
	}
	c.out.Name = fmt.Sprintf("metadata/%05d-%s.metadata.json", c.in.Version, c.in.UUID())
	c.out.Files[c.out.Name] = b
	c.out.State = &State{Metadata: c.m, location: c.in.Location + "/" + c.out.Name, manifests: c.manifests}
	return c.out, nil
}

// nonNil returns an empty list for nil, because readers want lists in JSON.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// snapshotWriter writes the manifests of a snapshot and their list.
type snapshotWriter struct {
	*commit
	s      Snapshot
	counts struct{ added, removed, total, addedRows, removedRows, rows, addedBytes, removedBytes, bytes int64 }
}

// write adds the snapshot to the metadata. touched are the groups whose manifests are written anew.
func (w *snapshotWriter) write(prev *State, touched map[group]bool, added map[group][]File) error {
	if parent := w.m.current(); parent != nil {
		id := parent.ID
		w.s.Parent = &id
	}
	firstRow := int64(0)
	if w.m.NextRow != nil {
		firstRow = *w.m.NextRow
	}
	next := firstRow
	live := map[group][]entry{}
	if prev != nil {
		for _, m := range prev.manifests {
			if touched[m.group] {
				live[m.group] = append(live[m.group], m.entries...)
				continue
			}
			w.manifests = append(w.manifests, m)
			w.total(m.entries)
		}
	}
	keep := make(map[string]bool, len(w.in.Files))
	for i := range w.in.Files {
		keep[w.in.Files[i].Path] = true
	}
	groups := slices.SortedFunc(maps.Keys(touched), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.spec, b.spec), cmp.Compare(a.day, b.day))
	})
	for _, g := range groups {
		m, err := w.manifest(g, live[g], added[g], keep, &next)
		if err != nil {
			return err
		}
		w.manifests = append(w.manifests, m)
		w.total(m.entries)
	}
	if err := w.list(); err != nil {
		return err
	}
	// A manifest that has only deleted files is not in the next list.
	w.commit.manifests = slices.DeleteFunc(w.manifests, func(m manifest) bool { return len(m.entries) == 0 })
	w.finish(firstRow, next)
	return nil
}

func (w *snapshotWriter) total(entries []entry) {
	for i := range entries {
		w.counts.total++
		w.counts.rows += entries[i].file.Rows
		w.counts.bytes += entries[i].file.Bytes
	}
}

// manifest writes the manifest of a group: the files that stay, those that are new, and those that are gone.
func (w *snapshotWriter) manifest(g group, live []entry, added []File, keep map[string]bool, next *int64) (
	m manifest, err error,
) {
	m = manifest{group: g, manifestFile: manifestFile{
		Spec: g.spec, Sequence: w.s.Sequence, MinSequence: w.s.Sequence, Snapshot: w.s.ID,
	}}
	if w.m.NextRow != nil {
		first := *next
		m.FirstRow = &first
	}
	var list []manifestEntry
	add := func(e *entry, status int32) {
		a := manifestEntry{Status: status, Snapshot: &e.snapshot, File: avroFile(&e.file, g)}
		if status != statusAdded { // new files get the number of the snapshot
			a.Sequence, a.FileSequence, a.File.FirstRow = &e.sequence, &e.sequence, &e.firstRow
			m.MinSequence = min(m.MinSequence, e.sequence)
		}
		if w.m.NextRow == nil {
			a.File.FirstRow = nil
		}
		list = append(list, a)
	}
	for i := range live {
		e := live[i]
		if keep[e.file.Path] {
			m.entries = append(m.entries, e)
			add(&e, statusExisting)
			m.ExistingFiles++
			m.ExistingRows += e.file.Rows
			continue
		}
		e.snapshot = w.s.ID
		add(&e, statusDeleted)
		m.DeletedFiles++
		m.DeletedRows += e.file.Rows
		w.counts.removed++
		w.counts.removedRows += e.file.Rows
		w.counts.removedBytes += e.file.Bytes
	}
	// The new files get the first numbers of rows of the manifest, in their order.
	row := *next
	for i := range added {
		e := entry{file: added[i], snapshot: w.s.ID, sequence: w.s.Sequence, firstRow: row}
		if w.m.NextRow == nil {
			e.firstRow = 0
		}
		row += e.file.Rows
		m.entries = append(m.entries, e)
		add(&e, statusAdded)
		m.AddedFiles++
		m.AddedRows += e.file.Rows
		w.counts.added++
		w.counts.addedRows += e.file.Rows
		w.counts.addedBytes += e.file.Bytes
	}
	*next += m.ExistingRows + m.AddedRows
	if g.spec == 0 {
		day := binary.LittleEndian.AppendUint32(nil, uint32(g.day))
		no := false
		m.Partitions = &[]fieldSummary{{NaN: &no, Lower: &day, Upper: &day}}
	} else {
		m.Partitions = &[]fieldSummary{}
	}
	metadata, err := w.describe(g)
	if err != nil {
		return m, err
	}
	b, err := encodeAvro(manifestSchema(w.in.Format, g.spec == 0), metadata, list)
	if err != nil {
		return m, fmt.Errorf("manifest: %w", err)
	}
	name := fmt.Sprintf("metadata/%s-m.avro", w.in.UUID())
	w.out.Files[name] = b
	m.Path, m.Length = w.in.Location+"/"+name, int64(len(b))
	return m, nil
}

// describe returns the metadata of a manifest.
func (w *snapshotWriter) describe(g group) (map[string]string, error) {
	s, err := json.Marshal(w.m.schema())
	if err != nil {
		return nil, err
	}
	fields, err := json.Marshal(w.m.Specs[g.spec].Fields)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"schema": string(s), "schema-id": fmt.Sprint(w.m.Schema), "partition-spec": string(fields),
		"partition-spec-id": fmt.Sprint(g.spec), "format-version": fmt.Sprint(int(w.in.Format)), "content": "data",
	}, nil
}

// list writes the manifest list.
func (w *snapshotWriter) list() error {
	files := make([]manifestFile, len(w.manifests))
	for i := range w.manifests {
		files[i] = w.manifests[i].manifestFile
	}
	metadata := map[string]string{
		"snapshot-id": fmt.Sprint(w.s.ID), "parent-snapshot-id": "null", "sequence-number": fmt.Sprint(w.s.Sequence),
		"format-version": fmt.Sprint(int(w.in.Format)),
	}
	if w.s.Parent != nil {
		metadata["parent-snapshot-id"] = fmt.Sprint(*w.s.Parent)
	}
	b, err := encodeAvro(listSchema(w.in.Format), metadata, files)
	if err != nil {
		return fmt.Errorf("manifest list: %w", err)
	}
	name := fmt.Sprintf("metadata/snap-%d-%s.avro", w.s.ID, w.in.UUID())
	w.out.Files[name] = b
	w.s.List = w.in.Location + "/" + name
	return nil
}

// finish makes the snapshot the current one.
func (w *snapshotWriter) finish(firstRow, nextRow int64) {
	n := &w.counts
	operation := "overwrite"
	switch {
	case n.removed == 0:
		operation = "append"
	case n.added == 0:
		operation = "delete"
	}
	text := func(v int64) string { return strconv.FormatInt(v, 10) }
	w.s.Summary = map[string]string{
		"operation": operation, "added-data-files": text(n.added), "deleted-data-files": text(n.removed),
		"added-records": text(n.addedRows), "deleted-records": text(n.removedRows), "added-files-size": text(n.addedBytes),
		"removed-files-size": text(n.removedBytes), "total-data-files": text(n.total), "total-records": text(n.rows),
		"total-files-size": text(n.bytes), "total-delete-files": "0", "total-position-deletes": "0",
		"total-equality-deletes": "0",
	}
	if w.m.NextRow != nil {
		rows := nextRow - firstRow
		w.s.FirstRow, w.s.Rows = &firstRow, &rows
		w.m.NextRow = &nextRow
	}
	w.m.LastSequence = w.s.Sequence
	id := w.s.ID
	w.m.Snapshot = &id
	w.m.Snapshots = append(w.m.Snapshots, w.s)
	w.m.SnapshotLog = append(w.m.SnapshotLog, SnapshotLog{w.now, id})
	w.m.Refs = map[string]Ref{"main": {id, "branch"}}
}
