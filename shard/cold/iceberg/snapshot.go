package iceberg

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// snapshotWriter writes the manifests of a snapshot and their list.
type snapshotWriter struct {
	*commit
	s Snapshot
	// other means that a file was added that was not joined from others.
	other  bool
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
	live := map[group][]manifestEntry{}
	if prev != nil {
		for i := range prev.manifests {
			m := &prev.manifests[i]
			if !touched[m.group] {
				w.manifests = append(w.manifests, *m)
				w.total(m.files)
				continue
			}
			entries, err := m.read(w.in.Read)
			if err != nil {
				return err
			}
			live[m.group] = append(live[m.group], entries...)
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
		w.total(m.files)
	}
	if err := w.list(); err != nil {
		return err
	}
	// A manifest that has only deleted files is not in the next list.
	w.commit.manifests = slices.DeleteFunc(w.manifests, func(m manifest) bool { return len(m.files) == 0 })
	w.finish(firstRow, next)
	return nil
}

func (w *snapshotWriter) total(files []File) {
	for i := range files {
		w.counts.total++
		w.counts.rows += files[i].Rows
		w.counts.bytes += files[i].Bytes
	}
}

// manifest writes the manifest of a group: the files that stay, those that are new, and those that are gone. It changes
// the entries in live.
func (w *snapshotWriter) manifest(g group, live []manifestEntry, added []File, keep map[string]bool, next *int64) (
	m manifest, err error,
) {
	m = manifest{group: g, manifestFile: manifestFile{
		Spec: g.spec, Sequence: w.s.Sequence, MinSequence: w.s.Sequence, Snapshot: w.s.ID,
	}}
	if w.m.NextRow != nil {
		first := *next
		m.FirstRow = &first
	}
	spec := &w.m.Specs[g.spec]
	list := make([]manifestEntry, 0, len(live)+len(added))
	for i := range live {
		e := &live[i]
		e.File.Partition = partitionOf(spec, g)
		m.MinSequence = min(m.MinSequence, *e.Sequence)
		if keep[e.File.Path] {
			e.Status = statusExisting
			f := e.file(g)
			m.files = append(m.files, f)
			m.ExistingFiles++
			m.ExistingRows += f.Rows
		} else {
			e.Status, e.Snapshot = statusDeleted, &w.s.ID
			m.DeletedFiles++
			m.DeletedRows += e.File.Rows
			w.counts.removed++
			w.counts.removedRows += e.File.Rows
			w.counts.removedBytes += e.File.Bytes
		}
		list = append(list, *e)
	}
	// New files get the sequence number of the snapshot, and the first numbers of rows of the manifest, in their order.
	for i := range added {
		f := &added[i]
		w.other = w.other || !f.Joined
		list = append(list, manifestEntry{Status: statusAdded, Snapshot: &w.s.ID, File: avroFile(f, spec, g)})
		m.files = append(m.files, f.brief())
		m.AddedFiles++
		m.AddedRows += f.Rows
		w.counts.added++
		w.counts.addedRows += f.Rows
		w.counts.addedBytes += f.Bytes
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
	b, err := encodeAvro(manifestSchema(w.in.Format, spec), metadata, list)
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
	case !w.other && n.addedRows == n.removedRows:
		operation = "replace" // the same rows in other files: readers of changes skip it
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
