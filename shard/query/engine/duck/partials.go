package duck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unsafe"

	"cordwood/shard/query/engine/sql"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

/*
#include <stdlib.h>
#include "duckdb_api.h"
*/
import "C"

// Rows returns the rows of one of our own statements. All its columns must be texts.
func (s *Session) Rows(text string) (rows [][]string, err error) {
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.Query(s.conn, text, &res) == duckdb.StateError {
		return nil, EngineError(duckdb.ResultError(&res), duckdb.ResultErrorType(&res))
	}
	for {
		chunk := duckdb.FetchChunk(res)
		if chunk.Ptr == nil {
			return rows, nil
		}
		columns, n := duckdb.DataChunkGetColumnCount(chunk), int(duckdb.DataChunkGetSize(chunk))
		first := len(rows)
		rows = append(rows, make([][]string, n)...)
		for c := range columns {
			data := duckdb.VectorGetData(duckdb.DataChunkGetVector(chunk, c))
			cells := unsafe.Slice((*duckdb.StringT)(data), n)
			for i := range cells {
				rows[first+i] = append(rows[first+i], duckdb.StringTData(&cells[i]))
			}
		}
		duckdb.DestroyDataChunk(&chunk)
		if n == 0 {
			return rows, nil
		}
	}
}

// Column is a column of an answer: its name, and its type as DuckDB writes it.
type Column struct{ Name, Type string }

// Describe returns the columns of the answer to a statement, without running it. Positions in its errors are
// positions in text.
func (s *Session) Describe(text string) ([]Column, error) {
	const before = "SELECT column_name, column_type FROM (DESCRIBE "
	rows, err := s.Rows(before + text + "\n)")
	if e := (*sql.EngineError)(nil); errors.As(err, &e) {
		if at, bad := strconv.Atoi(e.Position); bad == nil {
			e.Position = strconv.Itoa(at - len(before))
		}
	}
	if err != nil {
		return nil, err
	}
	out := make([]Column, len(rows))
	for i, row := range rows {
		out[i] = Column{row[0], row[1]}
	}
	return out, nil
}

// CreateTable creates an empty temporary table in the session, with the columns of a statement.
func (s *Session) CreateTable(name, text string) error {
	return s.Exec("CREATE TEMP TABLE " + sql.QuoteName(name) + " AS " + text + "\nWITH NO DATA")
}

// Append adds the rows of Arrow IPC streams to a temporary table. Values are cast to the types of
// its columns. It stops between two streams once ctx has ended.
//
// It returns an error if the columns of a stream have other types than want: a cast would round
// values of a wider type.
func (s *Session) Append(ctx context.Context, table string, want *arrow.Schema, streams [][]byte) error {
	var app duckdb.Appender
	defer duckdb.AppenderDestroy(&app)
	if duckdb.AppenderCreateExt(s.conn, "temp", "main", table, &app) == duckdb.StateError {
		return fmt.Errorf("open the table of partial results: %s", duckdb.AppenderError(app))
	}
	// Use one appender for all streams: flushing one costs a millisecond, and each has buffers of
	// its own.
	for _, stream := range streams {
		if err := s.appendStream(app, want, stream); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if duckdb.AppenderFlush(app) == duckdb.StateError {
		return EngineError(duckdb.AppenderError(app), duckdb.ErrorTypeInvalid)
	}
	return nil
}

// appendStream adds the rows of one stream.
func (s *Session) appendStream(app duckdb.Appender, want *arrow.Schema, stream []byte) error {
	// DuckDB reads the rows in place, so they must not be in memory of the Go heap.
	r, err := ipc.NewReader(bytes.NewReader(stream), ipc.WithAllocator(mallocator.NewMallocator()))
	if err != nil {
		return fmt.Errorf("read partial results: %w", err)
	}
	defer r.Release()
	if n := int(duckdb.AppenderColumnCount(app)); n != r.Schema().NumFields() {
		return fmt.Errorf("the partial results of a node have %d columns, but %d are expected", r.Schema().NumFields(), n)
	}
	for i, f := range r.Schema().Fields() {
		if i < want.NumFields() && !arrow.TypeEqual(f.Type, want.Field(i).Type) {
			return fmt.Errorf("column %d of a node's partial results has the type %s, but %s is expected", i+1, f.Type,
				want.Field(i).Type)
		}
	}
	converted, err := s.arrowTypes(r.Schema())
	if err != nil {
		return fmt.Errorf("describe the columns of partial results: %w", err)
	}
	defer C.duckdb_destroy_arrow_converted_schema(&converted)
	for r.Next() {
		if err := s.appendBatch(app, r.RecordBatch(), converted); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read partial results: %w", err)
	}
	return nil
}

// arrowTypes returns DuckDB's types for the columns of a schema. It omits names and metadata, which
// DuckDB might interpret.
func (s *Session) arrowTypes(schema *arrow.Schema) (converted C.duckdb_handle, err error) {
	fields := make([]arrow.Field, schema.NumFields())
	for i, f := range schema.Fields() {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: f.Type, Nullable: true}
	}
	mem := C.calloc(1, C.size_t(unsafe.Sizeof(cdata.CArrowSchema{})))
	defer C.free(mem)
	cdata.ExportArrowSchema(arrow.NewSchema(fields, nil), (*cdata.CArrowSchema)(mem))
	defer cdata.ReleaseCArrowSchema((*cdata.CArrowSchema)(mem))
	failed := C.duckdb_schema_from_arrow(C.duckdb_handle(s.conn.Ptr), (*C.struct_ArrowSchema)(mem), &converted)
	return converted, takeError(failed)
}

// appendBatch adds the rows of one batch.
func (s *Session) appendBatch(app duckdb.Appender, rec arrow.RecordBatch, types C.duckdb_handle) error {
	for from := int64(0); from < rec.NumRows(); from += chunkRows {
		part := rec.NewSlice(from, min(from+chunkRows, rec.NumRows()))
		chunk, err := s.chunkOf(part, types)
		part.Release()
		if err != nil {
			return fmt.Errorf("partial results: %w", err)
		}
		state := duckdb.AppendDataChunk(app, chunk)
		duckdb.DestroyDataChunk(&chunk)
		if state == duckdb.StateError {
			return EngineError(duckdb.AppenderError(app), duckdb.ErrorTypeInvalid)
		}
	}
	return nil
}

// chunkOf makes the rows of a batch readable to DuckDB without a copy, until the chunk is
// destroyed.
func (s *Session) chunkOf(rec arrow.RecordBatch, types C.duckdb_handle) (duckdb.DataChunk, error) {
	mem := C.calloc(1, C.size_t(unsafe.Sizeof(cdata.CArrowArray{})))
	defer C.free(mem)
	array := (*cdata.CArrowArray)(mem)
	cdata.ExportArrowRecordBatch(rec, array, nil)
	defer cdata.ReleaseCArrowArray(array) // does nothing if DuckDB took ownership
	var handle C.duckdb_handle
	failed := C.duckdb_data_chunk_from_arrow(C.duckdb_handle(s.conn.Ptr), (*C.struct_ArrowArray)(mem), types, &handle)
	return duckdb.DataChunk{Ptr: unsafe.Pointer(handle)}, takeError(failed)
}

// chunkRows is the maximum number of rows of a DuckDB chunk.
const chunkRows = 2048
