// Package iceberg turns the objects of a table into the files of an Apache Iceberg table: schemas, manifests, manifest
// lists and metadata files. It has no I/O: callers store the files that it returns, and give it those that it needs.
//
// A table has one manifest for each day, so a commit writes only the manifests of days that changed. DESIGN.md of the
// package above says who commits, and when.
package iceberg

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
