package iceberg

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// maxReads is the maximum number of files that Load reads at the same time.
const maxReads = 8

// partitionOf returns the partition of the files of a group.
func partitionOf(spec *Spec, g group) map[string]any {
	if len(spec.Fields) == 0 {
		return map[string]any{}
	}
	return map[string]any{spec.Fields[0].Name: time.Unix(int64(g.day)*86400, 0).UTC()}
}

// avroFile returns a file as an entry of a manifest has it.
func avroFile(f *File, spec *Spec, g group) dataFile {
	d := dataFile{Path: f.Path, Format: "PARQUET", Partition: partitionOf(spec, g), Rows: f.Rows, Bytes: f.Bytes}
	var sizes, values, nulls []countOfField
	var lower, upper []bytesOfField
	ids := make([]int32, 0, len(f.Fields))
	for id := range f.Fields {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Compare(a, b) })
	for _, id := range ids {
		s := f.Fields[id]
		sizes = append(sizes, countOfField{id, s.Bytes})
		values = append(values, countOfField{id, s.Values})
		nulls = append(nulls, countOfField{id, s.Nulls})
		if s.Lower != nil {
			lower = append(lower, bytesOfField{id, s.Lower})
		}
		if s.Upper != nil {
			upper = append(upper, bytesOfField{id, s.Upper})
		}
	}
	none := int32(0)
	d.ColumnSizes, d.Values, d.Nulls, d.Lower, d.Upper, d.SortOrder = &sizes, &values, &nulls, &lower, &upper, &none
	if len(f.Splits) > 0 {
		d.Splits = &f.Splits
	}
	return d
}

// Load returns the state of a table from the metadata file at a location. read returns a file by its absolute
// location, and is called concurrently.
func Load(location string, read func(location string) ([]byte, error)) (*State, error) {
	b, err := read(location)
	if err != nil {
		return nil, err
	}
	m, err := ParseMetadata(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", location, err)
	}
	st := &State{Metadata: m, location: location}
	list := m.List()
	if list == "" {
		return st, nil
	}
	if b, err = read(list); err != nil {
		return nil, err
	}
	files, err := decodeAvro[manifestFile](b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	st.manifests = make([]manifest, len(files))
	var g errgroup.Group
	g.SetLimit(maxReads)
	for i := range files {
		g.Go(func() error {
			m := &st.manifests[i]
			m.manifestFile = files[i]
			entries, err := m.read(read)
			if err != nil || len(entries) == 0 {
				return err
			}
			m.group = group{spec: m.Spec}
			if m.Spec == 0 {
				day, ok := dayOf(entries[0].File.Partition)
				if !ok {
					return fmt.Errorf("%s: the entry of %s has no day", m.Path, entries[0].File.Path)
				}
				m.group.day = day
			}
			m.files = make([]File, len(entries))
			for k := range entries {
				m.files[k] = entries[k].file(m.group)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	st.manifests = slices.DeleteFunc(st.manifests, func(m manifest) bool { return len(m.files) == 0 })
	return st, nil
}

// file returns what a State has of the file of an entry.
func (e *manifestEntry) file(g group) File {
	return File{Path: e.File.Path, Bytes: e.File.Bytes, Rows: e.File.Rows, Day: g.day, Days: g.spec == 1}
}

// read reads the live entries of a manifest. They have what they inherit from it.
func (m *manifest) read(read func(location string) ([]byte, error)) ([]manifestEntry, error) {
	b, err := read(m.Path)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) != m.Length {
		return nil, fmt.Errorf("%s has %d bytes, and the list of manifests says %d", m.Path, len(b), m.Length)
	}
	entries, err := decodeAvro[manifestEntry](b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Path, err)
	}
	row := int64(0)
	if m.FirstRow != nil {
		row = *m.FirstRow
	}
	for i := range entries {
		e := &entries[i]
		if e.Snapshot == nil {
			e.Snapshot = &m.Snapshot
		}
		if e.Sequence == nil {
			e.Sequence = &m.Sequence
		}
		if e.FileSequence == nil {
			e.FileSequence = e.Sequence
		}
		if e.File.FirstRow == nil && m.FirstRow != nil && e.Status == statusAdded {
			first := row
			e.File.FirstRow = &first
			row += e.File.Rows
		}
	}
	entries = slices.DeleteFunc(entries, func(e manifestEntry) bool { return e.Status == statusDeleted })
	if n := int(m.AddedFiles) + int(m.ExistingFiles); n != len(entries) {
		return nil, fmt.Errorf("%s has %d live files, and the list of manifests says %d", m.Path, len(entries), n)
	}
	return entries, nil
}

// Location returns the absolute location of the metadata file.
func (st *State) Location() string { return st.location }

// Needed returns the locations of the files that a state needs: its metadata file and the earlier ones that it names,
// the lists of all snapshots, and the manifests of the current one.
func (st *State) Needed() (locations []string) {
	locations = append(locations, st.location)
	for _, l := range st.Metadata.MetadataLog {
		locations = append(locations, l.File)
	}
	for _, s := range st.Metadata.Snapshots {
		locations = append(locations, s.List)
	}
	for i := range st.manifests {
		locations = append(locations, st.manifests[i].Path)
	}
	return locations
}

// Shown returns the files that a state shows, by their paths, without their statistics.
func (st *State) Shown() map[string]*File {
	out := map[string]*File{}
	for i := range st.manifests {
		for j := range st.manifests[i].files {
			f := &st.manifests[i].files[j]
			out[f.Path] = f
		}
	}
	return out
}
