package format

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"cordwood/proto/errs"
)

// writeArrow writes an Arrow IPC stream.
func writeArrow(w io.Writer, rows Rows) (err error) {
	iw := ipc.NewWriter(w, ipc.WithSchema(rows.Schema()))
	defer func() {
		if err != nil {
			// The stream must not look complete, so Close is not called, which would write its end.
			return
		}
		err = iw.Close()
	}()
	for rows.Next() {
		if err := iw.Write(rows.RecordBatch()); err != nil {
			return fmt.Errorf("write Arrow batch: %w", err)
		}
		if err := flush(w); err != nil {
			return err
		}
	}
	return rows.Err()
}

// The limits of a row group in rows and in bytes of Arrow data. The writer keeps one row group in memory.
const (
	parquetGroupRows  = 1 << 18
	parquetGroupBytes = 32 << 20
)

// writeParquet writes a Parquet file compressed with zstd, one row group at a time.
func writeParquet(w io.Writer, rows Rows) (err error) {
	schema, err := parquetSchema(rows.Schema())
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("write Parquet: %v", p)
		}
	}()
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithMaxRowGroupLength(parquetGroupRows), parquet.WithCreatedBy("cordwood"))
	// The writer would close w if w had a method Close.
	pw, err := pqarrow.NewFileWriter(schema, struct{ io.Writer }{w}, props,
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return errs.Wrap(errs.Unsupported, err, "write the result as Parquet")
	}
	var held int64
	for rows.Next() {
		rec := rows.RecordBatch()
		size := sizeOf(rec)
		if held > 0 && held+size > parquetGroupBytes {
			held = 0
			if err := pw.NewBufferedRowGroupChecked(); err != nil {
				return fmt.Errorf("write Parquet row group: %w", err)
			}
			if err := flush(w); err != nil {
				return err
			}
		}
		held += size
		if err := writeParquetBatch(pw, schema, rec); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err // no footer: the file must not look complete
	}
	if err := pw.Close(); err != nil {
		return fmt.Errorf("write Parquet footer: %w", err)
	}
	return nil
}

func writeParquetBatch(pw *pqarrow.FileWriter, schema *arrow.Schema, rec arrow.RecordBatch) error {
	batch := array.NewRecordBatch(schema, rec.Columns(), rec.NumRows())
	defer batch.Release()
	if err := pw.WriteBuffered(batch); err != nil {
		return fmt.Errorf("write Parquet batch: %w", err)
	}
	return nil
}

// parquetSchema returns s with unique column names, or an error if Parquet cannot express it.
func parquetSchema(s *arrow.Schema) (*arrow.Schema, error) {
	if s.NumFields() == 0 {
		return nil, errs.New(errs.Unsupported, "a Parquet file needs at least one column")
	}
	fields := make([]arrow.Field, s.NumFields())
	for i, name := range uniqueNames(s) {
		fields[i] = s.Field(i)
		fields[i].Name = name
		if t := notInParquet(fields[i].Type); t != nil {
			return nil, errs.New(errs.Unsupported,
				"column %q: Parquet has no type for %s; cast it to VARCHAR in the SELECT, or use another format", name, t)
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

// notInParquet returns the part of t that Parquet cannot hold, or nil.
func notInParquet(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.MonthIntervalType, *arrow.DayTimeIntervalType, *arrow.MonthDayNanoIntervalType, *arrow.DurationType,
		*arrow.DenseUnionType, *arrow.SparseUnionType, *arrow.Decimal32Type, *arrow.Decimal64Type,
		*arrow.StringViewType, *arrow.BinaryViewType, *arrow.RunEndEncodedType, *arrow.ListViewType, *arrow.LargeListViewType:
		return t
	case *arrow.DictionaryType:
		return notInParquet(t.ValueType)
	case *arrow.StructType:
		if t.NumFields() == 0 {
			return t
		}
		for _, f := range t.Fields() {
			if bad := notInParquet(f.Type); bad != nil {
				return bad
			}
		}
	case arrow.ListLikeType:
		return notInParquet(t.Elem())
	}
	return nil
}

// sizeOf estimates the number of bytes that the batch takes in memory.
func sizeOf(rec arrow.RecordBatch) int64 {
	var n int64
	for _, c := range rec.Columns() {
		n += int64(c.Data().SizeInBytes())
	}
	return n
}
