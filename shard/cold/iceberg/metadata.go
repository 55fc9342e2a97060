package iceberg

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"cordwood/proto/schema"
)

// Metadata is a metadata file of an Iceberg table.
type Metadata struct {
	Format        Format            `json:"format-version"`
	UUID          string            `json:"table-uuid"`
	Location      string            `json:"location"`
	LastSequence  int64             `json:"last-sequence-number"`
	UpdatedMillis int64             `json:"last-updated-ms"`
	LastColumn    int32             `json:"last-column-id"`
	Schemas       []*Schema         `json:"schemas"`
	Schema        int32             `json:"current-schema-id"`
	Specs         []Spec            `json:"partition-specs"`
	Spec          int32             `json:"default-spec-id"`
	LastPartition int32             `json:"last-partition-id"`
	Orders        []SortOrder       `json:"sort-orders"`
	Order         int32             `json:"default-sort-order-id"`
	Properties    map[string]string `json:"properties"`
	Snapshot      *int64            `json:"current-snapshot-id,omitempty"`
	Snapshots     []Snapshot        `json:"snapshots"`
	SnapshotLog   []SnapshotLog     `json:"snapshot-log"`
	MetadataLog   []MetadataLog     `json:"metadata-log"`
	Refs          map[string]Ref    `json:"refs"`
	NextRow       *int64            `json:"next-row-id,omitempty"`
}

// Spec is a partition spec. Spec 0 partitions by days; spec 1, which has no fields, is that of objects with rows of
// several days.
type Spec struct {
	ID     int32       `json:"spec-id"`
	Fields []SpecField `json:"fields"`
}

// SpecField is a field of a Spec.
type SpecField struct {
	Source    int32  `json:"source-id"`
	ID        int32  `json:"field-id"`
	Name      string `json:"name"`
	Transform string `json:"transform"`
}

// SortOrder is an order of rows. Only the order 0, without fields, is used.
type SortOrder struct {
	ID     int32      `json:"order-id"`
	Fields []struct{} `json:"fields"`
}

// Snapshot is a state of the table.
type Snapshot struct {
	ID       int64             `json:"snapshot-id"`
	Parent   *int64            `json:"parent-snapshot-id,omitempty"`
	Sequence int64             `json:"sequence-number"`
	Millis   int64             `json:"timestamp-ms"`
	List     string            `json:"manifest-list"`
	Summary  map[string]string `json:"summary"`
	Schema   *int32            `json:"schema-id,omitempty"`
	FirstRow *int64            `json:"first-row-id,omitempty"`
	Rows     *int64            `json:"added-rows,omitempty"`
}

// SnapshotLog says since when a snapshot was the current one.
type SnapshotLog struct {
	Millis   int64 `json:"timestamp-ms"`
	Snapshot int64 `json:"snapshot-id"`
}

// MetadataLog is an earlier metadata file.
type MetadataLog struct {
	Millis int64  `json:"timestamp-ms"`
	File   string `json:"metadata-file"`
}

// Ref names a snapshot.
type Ref struct {
	Snapshot int64  `json:"snapshot-id"`
	Type     string `json:"type"`
}

// ParseMetadata reads a metadata file.
func ParseMetadata(b []byte) (*Metadata, error) {
	m := &Metadata{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("metadata of an Iceberg table: %w", err)
	}
	return m, nil
}

// schema returns the current schema, or nil.
func (m *Metadata) schema() *Schema {
	for _, s := range m.Schemas {
		if s.ID == m.Schema {
			return s
		}
	}
	return nil
}

// versionProperty is the property with the version of the table as of the last commit that was not held. No object of a
// later version is shown.
const versionProperty = "cordwood.table-version"

// version returns that version. ok is false if it is not known.
func (m *Metadata) version() (v uint32, ok bool) {
	n, err := strconv.ParseUint(m.Properties[versionProperty], 10, 32)
	return uint32(n), err == nil
}

// setVersion notes the version of the table. A node that does not know the newest one yet does not lower it.
func (m *Metadata) setVersion(v uint32) {
	if m.Properties == nil {
		m.Properties = map[string]string{}
	}
	had, _ := m.version()
	m.Properties[versionProperty] = strconv.FormatUint(uint64(max(v, had)), 10)
}

// filledProperty is the property with the ids of columns, separated by commas, that were added with a default which the
// schema does not show. Objects without these columns are not shown: they would have nulls in place of the default.
const filledProperty = "cordwood.filled-columns"

// filledColumns returns these columns.
func (m *Metadata) filledColumns() (ids []uint32) {
	for text := range strings.SplitSeq(m.Properties[filledProperty], ",") {
		if n, err := strconv.ParseUint(text, 10, 32); err == nil {
			ids = append(ids, uint32(n))
		}
	}
	return ids
}

// setFilledColumns notes the columns of a definition that becomes the schema.
func (m *Metadata) setFilledColumns(t *schema.Table) {
	var ids []string
	for i := range t.Columns {
		_, fills := filled(&t.Columns[i])
		if _, shown := m.Format.initial(&t.Columns[i]); fills && !shown {
			ids = append(ids, strconv.FormatUint(uint64(t.Columns[i].ID), 10))
		}
	}
	if delete(m.Properties, filledProperty); len(ids) > 0 {
		m.Properties[filledProperty] = strings.Join(ids, ",")
	}
}

// current returns the current snapshot, or nil.
func (m *Metadata) current() *Snapshot {
	if m.Snapshot == nil {
		return nil
	}
	for i := range m.Snapshots {
		if m.Snapshots[i].ID == *m.Snapshot {
			return &m.Snapshots[i]
		}
	}
	return nil
}

// List returns the location of the manifest list of the current snapshot, or "".
func (m *Metadata) List() string {
	if s := m.current(); s != nil {
		return s.List
	}
	return ""
}
