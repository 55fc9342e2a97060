package iceberg

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cordwood/shard/segment"
)

// avroFile returns a file as an entry of a manifest has it.
func avroFile(f *File, g group) dataFile {
	d := dataFile{Path: f.Path, Format: "PARQUET", Partition: map[string]any{}, Rows: f.Rows, Bytes: f.Bytes}
	if g.spec == 0 {
		d.Partition["time_day"] = time.Unix(int64(g.day)*86400, 0).UTC()
	}
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

// fileOf is the inverse of avroFile.
func fileOf(d *dataFile, g group) File {
	f := File{
		Path: d.Path, Bytes: d.Bytes, Rows: d.Rows, Day: g.day, Days: g.spec == 1, Fields: map[int32]FieldStats{},
	}
	each := func(list *[]countOfField, set func(s *FieldStats, n int64)) {
		if list == nil {
			return
		}
		for _, e := range *list {
			s := f.Fields[e.Key]
			set(&s, e.Value)
			f.Fields[e.Key] = s
		}
	}
	each(d.ColumnSizes, func(s *FieldStats, n int64) { s.Bytes = n })
	each(d.Values, func(s *FieldStats, n int64) { s.Values = n })
	each(d.Nulls, func(s *FieldStats, n int64) { s.Nulls = n })
	bounds := func(list *[]bytesOfField, set func(s *FieldStats, b []byte)) {
		if list == nil {
			return
		}
		for _, e := range *list {
			s := f.Fields[e.Key]
			set(&s, e.Value)
			f.Fields[e.Key] = s
		}
	}
	bounds(d.Lower, func(s *FieldStats, b []byte) { s.Lower = b })
	bounds(d.Upper, func(s *FieldStats, b []byte) { s.Upper = b })
	if d.Splits != nil {
		f.Splits = *d.Splits
	}
	return f
}

// Load returns the state of a table from the metadata file at a location. read returns a file by its absolute location.
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
	for i := range files {
		if b, err = read(files[i].Path); err != nil {
			return nil, err
		}
		entries, err := decodeAvro[manifestEntry](b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", files[i].Path, err)
		}
		x, err := newManifest(&files[i], entries)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", files[i].Path, err)
		}
		if len(x.entries) > 0 {
			st.manifests = append(st.manifests, x)
		}
	}
	return st, nil
}

// newManifest returns the live entries of a manifest.
func newManifest(f *manifestFile, entries []manifestEntry) (manifest, error) {
	m := manifest{manifestFile: *f, group: group{spec: f.Spec}}
	row := int64(0)
	if f.FirstRow != nil {
		row = *f.FirstRow
	}
	for i := range entries {
		a := &entries[i]
		if a.Status == statusDeleted {
			continue
		}
		if f.Spec == 0 {
			day, ok := dayOf(a.File.Partition)
			if !ok {
				return m, fmt.Errorf("the entry of %s has no day", a.File.Path)
			}
			m.group.day = day
		}
		e := entry{file: fileOf(&a.File, m.group), snapshot: f.Snapshot, sequence: f.Sequence}
		if a.Snapshot != nil {
			e.snapshot = *a.Snapshot
		}
		if a.Sequence != nil {
			e.sequence = *a.Sequence
		}
		if a.File.FirstRow != nil {
			e.firstRow = *a.File.FirstRow
		} else if f.FirstRow != nil {
			e.firstRow = row
			row += e.file.Rows
		}
		m.entries = append(m.entries, e)
	}
	return m, nil
}

// Location returns the absolute location of the metadata file.
func (st *State) Location() string { return st.location }

// Nulls returns how many nulls the file has in a column. If that is not known, it returns 0: the column was added after
// the file was written.
func (f *File) Nulls(id uint32) int64 {
	if s, ok := f.Fields[int32(id)]; ok {
		return s.Nulls
	}
	return f.Fields[int32(id+segment.HiddenID)].Nulls
}

// Needed returns the locations of all files that the snapshots of a state need: metadata files, manifest lists and
// manifests. read returns a file by its absolute location.
func Needed(st *State, read func(location string) ([]byte, error)) (locations []string, err error) {
	locations = append(locations, st.location)
	for _, l := range st.Metadata.MetadataLog {
		locations = append(locations, l.File)
	}
	seen := map[string]bool{}
	for _, s := range st.Metadata.Snapshots {
		locations = append(locations, s.List)
		b, err := read(s.List)
		if err != nil {
			return nil, err
		}
		files, err := decodeAvro[manifestFile](b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.List, err)
		}
		for i := range files {
			if p := files[i].Path; !seen[p] {
				seen[p] = true
				locations = append(locations, p)
			}
		}
	}
	return locations, nil
}

// Shown returns the paths of the files that a state shows.
func (st *State) Shown() map[string]*File {
	out := map[string]*File{}
	for i := range st.manifests {
		for j := range st.manifests[i].entries {
			f := &st.manifests[i].entries[j].file
			out[f.Path] = f
		}
	}
	return out
}
