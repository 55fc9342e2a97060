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
