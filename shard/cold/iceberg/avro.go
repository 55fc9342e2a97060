package iceberg

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"
)

// maxAvro is the maximum number of entries of an Avro file that is read.
const maxAvro = 10_000_000

// dayField is the field of the partition, the day of the time index, and dayName its name if no column has it.
const (
	dayField = 1000
	dayName  = "time_day"
)

// manifestEntry is an entry of a manifest in Avro.
type manifestEntry struct {
	Status       int32    `avro:"status"`
	Snapshot     *int64   `avro:"snapshot_id"`
	Sequence     *int64   `avro:"sequence_number"`
	FileSequence *int64   `avro:"file_sequence_number"`
	File         dataFile `avro:"data_file"`
}

// The values of manifestEntry.Status.
const (
	statusExisting = 0
	statusAdded    = 1
	statusDeleted  = 2
)

// dataFile is an object in Avro.
type dataFile struct {
	Content     int32           `avro:"content"`
	Path        string          `avro:"file_path"`
	Format      string          `avro:"file_format"`
	Partition   map[string]any  `avro:"partition"`
	Rows        int64           `avro:"record_count"`
	Bytes       int64           `avro:"file_size_in_bytes"`
	ColumnSizes *[]countOfField `avro:"column_sizes"`
	Values      *[]countOfField `avro:"value_counts"`
	Nulls       *[]countOfField `avro:"null_value_counts"`
	Lower       *[]bytesOfField `avro:"lower_bounds"`
	Upper       *[]bytesOfField `avro:"upper_bounds"`
	Splits      *[]int64        `avro:"split_offsets"`
	SortOrder   *int32          `avro:"sort_order_id"`
	FirstRow    *int64          `avro:"first_row_id"`
}

type countOfField struct {
	Key   int32 `avro:"key"`
	Value int64 `avro:"value"`
}

type bytesOfField struct {
	Key   int32  `avro:"key"`
	Value []byte `avro:"value"`
}

// manifestFile is an entry of a manifest list in Avro.
type manifestFile struct {
	Path          string          `avro:"manifest_path"`
	Length        int64           `avro:"manifest_length"`
	Spec          int32           `avro:"partition_spec_id"`
	Content       int32           `avro:"content"`
	Sequence      int64           `avro:"sequence_number"`
	MinSequence   int64           `avro:"min_sequence_number"`
	Snapshot      int64           `avro:"added_snapshot_id"`
	AddedFiles    int32           `avro:"added_files_count"`
	ExistingFiles int32           `avro:"existing_files_count"`
	DeletedFiles  int32           `avro:"deleted_files_count"`
	AddedRows     int64           `avro:"added_rows_count"`
	ExistingRows  int64           `avro:"existing_rows_count"`
	DeletedRows   int64           `avro:"deleted_rows_count"`
	Partitions    *[]fieldSummary `avro:"partitions"`
	FirstRow      *int64          `avro:"first_row_id"`
}

// fieldSummary is the range of a field of the partitions of a manifest.
type fieldSummary struct {
	Null  bool    `avro:"contains_null"`
	NaN   *bool   `avro:"contains_nan"`
	Lower *[]byte `avro:"lower_bound"`
	Upper *[]byte `avro:"upper_bound"`
}

func optional(name, typ string, id int) string {
	return fmt.Sprintf(`{"name":%q,"type":["null",%s],"default":null,"field-id":%d}`, name, typ, id)
}

func required(name, typ string, id int) string {
	return fmt.Sprintf(`{"name":%q,"type":%s,"field-id":%d}`, name, typ, id)
}

func record(name string, fields ...string) string {
	return fmt.Sprintf(`{"type":"record","name":%q,"fields":[%s]}`, name, strings.Join(fields, ","))
}

// mapOf returns the type of a map with integers as keys, as Iceberg has it in Avro.
func mapOf(key int, value string) string {
	return fmt.Sprintf(`{"type":"array","items":%s,"logicalType":"map"}`, record(fmt.Sprintf("k%d_v%d", key, key+1),
		required("key", `"int"`, key), required("value", value, key+1)))
}

func listOf(items string, id int) string {
	return fmt.Sprintf(`{"type":"array","items":%s,"element-id":%d}`, items, id)
}

// manifestSchema returns the schema of a manifest of files with a partition spec.
func manifestSchema(f Format, spec *Spec) string {
	partition := record("r102")
	if len(spec.Fields) > 0 {
		partition = record("r102", optional(spec.Fields[0].Name, `{"type":"int","logicalType":"date"}`, dayField))
	}
	file := []string{
		required("content", `"int"`, 134), required("file_path", `"string"`, 100), required("file_format", `"string"`, 101),
		required("partition", partition, 102), required("record_count", `"long"`, 103),
		required("file_size_in_bytes", `"long"`, 104), optional("column_sizes", mapOf(117, `"long"`), 108),
		optional("value_counts", mapOf(119, `"long"`), 109), optional("null_value_counts", mapOf(121, `"long"`), 110),
		optional("lower_bounds", mapOf(126, `"bytes"`), 125), optional("upper_bounds", mapOf(129, `"bytes"`), 128),
		optional("split_offsets", listOf(`"long"`, 133), 132), optional("sort_order_id", `"int"`, 140),
	}
	if f >= 3 {
		file = append(file, optional("first_row_id", `"long"`, 142))
	}
	return record("manifest_entry", required("status", `"int"`, 0), optional("snapshot_id", `"long"`, 1),
		optional("sequence_number", `"long"`, 3), optional("file_sequence_number", `"long"`, 4),
		required("data_file", record("r2", file...), 2))
}

// listSchema returns the schema of a manifest list.
func listSchema(f Format) string {
	summary := record("r508", required("contains_null", `"boolean"`, 509), optional("contains_nan", `"boolean"`, 518),
		optional("lower_bound", `"bytes"`, 510), optional("upper_bound", `"bytes"`, 511))
	fields := []string{
		required("manifest_path", `"string"`, 500), required("manifest_length", `"long"`, 501),
		required("partition_spec_id", `"int"`, 502), required("content", `"int"`, 517),
		required("sequence_number", `"long"`, 515), required("min_sequence_number", `"long"`, 516),
		required("added_snapshot_id", `"long"`, 503), required("added_files_count", `"int"`, 504),
		required("existing_files_count", `"int"`, 505), required("deleted_files_count", `"int"`, 506),
		required("added_rows_count", `"long"`, 512), required("existing_rows_count", `"long"`, 513),
		required("deleted_rows_count", `"long"`, 514), optional("partitions", listOf(summary, 508), 507),
	}
	if f >= 3 {
		fields = append(fields, optional("first_row_id", `"long"`, 520))
	}
	return record("manifest_file", fields...)
}

// encodeAvro writes an Avro file. Its blocks are not compressed: not all readers know deflate.
func encodeAvro[T any](schema string, metadata map[string]string, entries []T) ([]byte, error) {
	parsed, err := avro.ParseWithCache(schema, "", &avro.SchemaCache{})
	if err != nil {
		return nil, err
	}
	meta := make(map[string][]byte, len(metadata))
	for k, v := range metadata {
		meta[k] = []byte(v)
	}
	var b bytes.Buffer
	w, err := ocf.NewEncoderWithSchema(parsed, &b, ocf.WithCodec(ocf.Null), ocf.WithMetadata(meta),
		ocf.WithSchemaMarshaler(func(avro.Schema) ([]byte, error) { return []byte(schema), nil }))
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if err := w.Encode(entries[i]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decodeAvro reads an Avro file.
func decodeAvro[T any](b []byte) (entries []T, err error) {
	r, err := ocf.NewDecoder(bytes.NewReader(b), ocf.WithDecoderSchemaCache(&avro.SchemaCache{}))
	if err != nil {
		return nil, err
	}
	for r.HasNext() {
		var e T
		if err := r.Decode(&e); err != nil {
			return nil, err
		}
		if entries = append(entries, e); len(entries) > maxAvro {
			return nil, fmt.Errorf("the file has more than %d entries", maxAvro)
		}
	}
	return entries, r.Error()
}

// dayOf returns the day of a partition as it is decoded.
func dayOf(partition map[string]any) (day int32, ok bool) {
	for _, value := range partition { // the only one
		switch v := value.(type) {
		case time.Time:
			return int32(v.Unix() / 86400), true
		case map[string]any: // a union as hamba decodes it
			if t, is := v["int.date"].(time.Time); is {
				return int32(t.Unix() / 86400), true
			}
		}
	}
	return 0, false
}
