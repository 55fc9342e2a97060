// Package iceberg turns the objects of a table into the files of an Apache Iceberg table: schemas, manifests, manifest
// lists and metadata files. It has no I/O: callers store the files that it returns, and read for it those that it
// needs.
//
// A table has one manifest for each day, so a commit writes only the manifests of days that changed. DESIGN.md of the
// package above says who commits, and when.
package iceberg

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// maxLog is the maximum number of earlier metadata files in a metadata file, and maxSnapshots that of snapshots:
	// each commit writes them anew.
	maxLog, maxSnapshots = 500, 1500
	// maxSchemas is the size of the schemas of older snapshots in a metadata file, as JSON, in bytes. Snapshots whose
	// schema was left out are read with the present one.
	maxSchemas = 4 << 20
)

// State is a table as it was committed.
type State struct {
	Metadata *Metadata
	// location is where Metadata lies.
	location  string
	manifests []manifest
}

// manifest is a manifest with its live files, of which it has what File.brief returns. It is not changed in place.
type manifest struct {
	manifestFile
	group group
	files []File
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

// Input is what a commit shows.
type Input struct {
	Table  *schema.Table
	Format Format
	// Files are all objects that are shown, each with its own path.
	Files []File
	// Held means that the present definition cannot be shown: the table keeps its schema, and Files are only those that
	// are left of what it showed, and those into which files of these were joined.
	Held bool
	// Location is the absolute location of the table, without a slash at the end.
	Location string
	// Version is the number of the commit.
	Version uint64
	Now     time.Time
	// Read returns a file of an earlier commit by its absolute location.
	Read func(location string) ([]byte, error)
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
	changed := c.schema(prev)
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
					Source: c.in.Format.fieldID(index), ID: dayField, Name: dayName, Transform: "day",
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
func (c *commit) schema(prev *State) (changed bool) {
	if c.in.Held && prev != nil {
		return false
	}
	c.m.setVersion(c.in.Table.Version)
	c.m.setFilledColumns(c.in.Table)
	now := c.m.schema()
	s := NewSchema(c.in.Table, c.in.Format, now)
	if now != nil && now.same(s) {
		return false
	}
	c.m.Specs[0].Fields[0].Name = partitionName(s)
	for _, f := range s.Fields {
		c.m.LastColumn = max(c.m.LastColumn, f.ID)
	}
	for slices.ContainsFunc(c.m.Schemas, func(had *Schema) bool { return had.ID == s.ID }) {
		s.ID++ // what was shown for the same version of the table differs
	}
	c.m.Schemas = append(c.m.Schemas, s)
	c.m.Schema = s.ID
	return true
}

// partitionName returns the name of the field of partitions. No column may have it: Iceberg's Java library refuses such
// a table.
func partitionName(s *Schema) string {
	taken := make(map[string]bool, len(s.Fields))
	for i := range s.Fields {
		taken[strings.ToLower(s.Fields[i].Name)] = true
	}
	name := dayName
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", dayName, n)
	}
	return name
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
			for j := range prev.manifests[i].files {
				path := prev.manifests[i].files[j].Path
				if want[path] == nil {
					touched[prev.manifests[i].group] = true
				}
				delete(want, path)
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
	id := c.m.Schema
	w := &snapshotWriter{commit: c, s: Snapshot{
		ID: c.in.ID(), Sequence: c.m.LastSequence + 1, Millis: c.now, Schema: &id,
	}}
	return true, w.write(prev, touched, added)
}

// expire removes old snapshots, and schemas that no snapshot has. It reports whether that alone is worth a commit.
func (c *commit) expire(prev *State) (due bool) {
	kept := map[int64]bool{}
	surplus := len(c.m.Snapshots) - maxSnapshots // the oldest ones are first
	future := c.in.Now.Add(time.Hour).UnixMilli()
	c.m.Snapshots = slices.DeleteFunc(c.m.Snapshots, func(s Snapshot) bool {
		surplus--
		old := s.Millis < c.now-keepSnapshots.Milliseconds() || s.Millis > future
		if s.ID != *c.m.Snapshot && (old || surplus >= 0) {
			due = due || s.Millis < c.now-expireAfter.Milliseconds()
			return true
		}
		kept[s.ID] = true
		return false
	})
	c.m.SnapshotLog = slices.DeleteFunc(c.m.SnapshotLog, func(l SnapshotLog) bool { return !kept[l.Snapshot] })
	c.forgetSchemas()
	return due && prev != nil
}

// forgetSchemas removes schemas that no snapshot has, and the oldest ones if all are too large.
func (c *commit) forgetSchemas() {
	used := map[int32]bool{c.m.Schema: true}
	for i := range c.m.Snapshots {
		if id := c.m.Snapshots[i].Schema; id != nil {
			used[*id] = true
		}
	}
	left := maxSchemas
	for _, s := range slices.Backward(c.m.Schemas) { // the newest ones first
		if s.ID == c.m.Schema || !used[s.ID] {
			continue
		}
		if left -= s.size(); left < 0 {
			delete(used, s.ID)
		}
	}
	c.m.Schemas = slices.DeleteFunc(c.m.Schemas, func(s *Schema) bool { return !used[s.ID] })
	for i := range c.m.Snapshots {
		if s := &c.m.Snapshots[i]; s.Schema != nil && !used[*s.Schema] {
			s.Schema = nil
		}
	}
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
