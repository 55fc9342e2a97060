package duck

import (
	"bytes"
	"fmt"
	"strings"
	"unsafe"

	"cordwood/shard/query/engine/plan"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

/*
#include <stdlib.h>
#include "duckdb_api.h"
*/
import "C"

const (
	// flushBytes is how many bytes of the stream are collected before emit is called.
	flushBytes = 256 << 10
	// maxBatch is about the largest size of a batch in the stream. Everything behind the engine holds at least one batch
	// of an answer whose client is slow. The engine's chunks have 2,048 rows, however wide these are.
	maxBatch = 512 << 10
)

// isJSON reports whether t is JSON, which Arrow represents as a text.
func isJSON(t duckdb.LogicalType) bool {
	return duckdb.GetTypeId(t) == duckdb.TypeVarchar && strings.EqualFold(duckdb.LogicalTypeGetAlias(t), "JSON")
}

// maxTypeDepth is the maximum nesting of lists and structs in an answer. Deeper values are sent as
// text, because clients and libraries limit the depth.
const maxTypeDepth = 16

// asText reports whether values of t are sent as text: types that Arrow lacks, or whose Arrow form
// many clients cannot read. depth is the number of types around t.
func asText(t duckdb.LogicalType, depth int) bool {
	if depth > maxTypeDepth {
		return true
	}
	switch duckdb.GetTypeId(t) {
	case duckdb.TypeEnum, duckdb.TypeUnion, duckdb.TypeBit, duckdb.TypeTimeTZ, duckdb.TypeUHugeInt, duckdb.TypeBigNum,
		duckdb.TypeTimeNS, duckdb.TypeInterval, duckdb.TypeUUID, duckdb.TypeGeometry, duckdb.TypeVariant, duckdb.TypeSQLNull,
		duckdb.TypeAny:
		return true
	case duckdb.TypeList:
		child := duckdb.ListTypeChildType(t)
		defer duckdb.DestroyLogicalType(&child)
		return asText(child, depth+1)
	case duckdb.TypeArray:
		child := duckdb.ArrayTypeChildType(t)
		defer duckdb.DestroyLogicalType(&child)
		return asText(child, depth+1)
	case duckdb.TypeMap:
		key, value := duckdb.MapTypeKeyType(t), duckdb.MapTypeValueType(t)
		defer duckdb.DestroyLogicalType(&key)
		defer duckdb.DestroyLogicalType(&value)
		return asText(key, depth+1) || asText(value, depth+1)
	case duckdb.TypeStruct:
		for i := range duckdb.StructTypeChildCount(t) {
			child := duckdb.StructTypeChildType(t, i)
			text := asText(child, depth+1)
			duckdb.DestroyLogicalType(&child)
			if text {
				return true
			}
		}
	}
	return false
}

// readable returns the statement with the columns that asText names cast to text, or "" if no
// column needs it.
func (p *Prepared) readable() string {
	if duckdb.PreparedStatementType(p.stmt) != duckdb.StatementTypeSelect {
		return ""
	}
	casts, columns, names := 0, make([]string, len(p.types)), make([]string, len(p.types))
	for i, t := range p.types {
		names[i] = fmt.Sprintf("c%d", i)
		columns[i] = names[i]
		if asText(t, 0) {
			columns[i] += "::VARCHAR"
			casts++
		}
	}
	if casts == 0 {
		return ""
	}
	return fmt.Sprintf("SELECT %s FROM (%s\n) AS q(%s)",
		strings.Join(columns, ", "), strings.TrimRight(p.text, " \t\r\n;"), strings.Join(names, ", "))
}

// stream turns chunks of a result into an Arrow IPC stream. It is used by one goroutine.
type stream struct {
	options duckdb.ArrowOptions
	schema  *arrow.Schema
	buf     bytes.Buffer
	writer  *ipc.Writer
	send    func([]byte) error
	chunk   func(bytes uint64)
}

func newStream(p *Prepared, res *duckdb.Result, a *Answer) (*stream, error) {
	s := &stream{options: duckdb.ResultGetArrowOptions(res), send: a.Emit, chunk: a.Chunk}
	if err := s.setSchema(p); err != nil {
		s.release()
		return nil, err
	}
	s.writer = ipc.NewWriter(&s.buf, ipc.WithSchema(s.schema))
	return s, nil
}

func (s *stream) release() {
	duckdb.DestroyArrowOptions(&s.options)
}

// setSchema asks DuckDB for the Arrow schema of the result's columns.
func (s *stream) setSchema(p *Prepared) error {
	n := len(p.types)
	memTypes := C.calloc(C.size_t(n+1), C.size_t(unsafe.Sizeof(C.duckdb_handle(nil))))
	memNames := C.calloc(C.size_t(n+1), C.size_t(unsafe.Sizeof((*C.char)(nil))))
	types := unsafe.Slice((*C.duckdb_handle)(memTypes), n+1)
	names := unsafe.Slice((**C.char)(memNames), n+1)
	defer func() {
		for _, name := range names {
			C.free(unsafe.Pointer(name))
		}
		C.free(memNames)
		C.free(memTypes)
	}()
	for i := range n {
		types[i], names[i] = C.duckdb_handle(p.types[i].Ptr), C.CString(p.Names[i])
	}
	mem := C.calloc(1, C.size_t(unsafe.Sizeof(cdata.CArrowSchema{})))
	defer C.free(mem)
	out := (*cdata.CArrowSchema)(mem)
	failed := C.duckdb_to_arrow_schema(C.duckdb_handle(s.options.Ptr), &types[0], &names[0], C.idx_t(n),
		(*C.struct_ArrowSchema)(mem))
	if err := takeError(failed); err != nil {
		return fmt.Errorf("describe the result's columns in Arrow: %w", err)
	}
	defer cdata.ReleaseCArrowSchema(out)
	schema, err := cdata.ImportCArrowSchema(out)
	if err != nil {
		return fmt.Errorf("describe the result's columns in Arrow: %w", err)
	}
	fields := schema.Fields()
	for i := range fields {
		if ext, ok := fields[i].Type.(arrow.ExtensionType); ok {
			fields[i].Type = ext.StorageType()
		}
		fields[i].Metadata = arrow.Metadata{}
		if isJSON(p.types[i]) {
			fields[i].Metadata = arrow.NewMetadata([]string{plan.TypeKey}, []string{plan.TypeJSON})
		}
		if i < len(p.sentAsText) && p.sentAsText[i] != "" {
			fields[i].Metadata = arrow.NewMetadata([]string{plan.SQLTypeKey}, []string{p.sentAsText[i]})
		}
	}
	s.schema = arrow.NewSchema(fields, nil)
	return nil
}

// takeError converts an error of a DuckDB call to a Go error and frees it. It returns nil if there is no error.
func takeError(handle C.duckdb_handle) error {
	data := duckdb.ErrorData{Ptr: unsafe.Pointer(handle)}
	if data.Ptr == nil {
		return nil
	}
	defer duckdb.DestroyErrorData(&data)
	if !duckdb.ErrorDataHasError(data) {
		return nil
	}
	return EngineError(duckdb.ErrorDataMessage(data), duckdb.ErrorDataErrorType(data))
}

// write appends the first rows rows of a chunk, and frees the chunk before somebody may have to wait for the client.
func (s *stream) write(chunk *duckdb.DataChunk, rows int64) error {
	mem := C.calloc(1, C.size_t(unsafe.Sizeof(cdata.CArrowArray{})))
	defer C.free(mem)
	failed := C.duckdb_data_chunk_to_arrow(C.duckdb_handle(s.options.Ptr), C.duckdb_handle(chunk.Ptr),
		(*C.struct_ArrowArray)(mem))
	duckdb.DestroyDataChunk(chunk)
	if err := takeError(failed); err != nil {
		return fmt.Errorf("convert rows to Arrow: %w", err)
	}
	// The import takes ownership of the array and releases it together with the record.
	record, err := cdata.ImportCRecordBatchWithSchema((*cdata.CArrowArray)(mem), s.schema)
	if err != nil {
		return fmt.Errorf("convert rows to Arrow: %w", err)
	}
	defer record.Release()
	if rows < record.NumRows() {
		part := record.NewSlice(0, rows)
		defer part.Release()
		record = part
	}
	size := uint64(0)
	for _, column := range record.Columns() {
		size += column.Data().SizeInBytes()
	}
	if s.chunk != nil {
		s.chunk(size)
	}
	step := record.NumRows()
	if size > maxBatch {
		step = max(1, step*maxBatch/int64(size))
	}
	for at := int64(0); at < record.NumRows(); at += step {
		if err := s.writePart(record, at, min(at+step, record.NumRows())); err != nil {
			return err
		}
	}
	return nil
}

// writePart appends the rows [from, to) of a record as a batch of the stream.
func (s *stream) writePart(record arrow.RecordBatch, from, to int64) error {
	part := record.NewSlice(from, to)
	defer part.Release()
	if err := s.writer.Write(part); err != nil {
		return fmt.Errorf("write rows as Arrow IPC: %w", err)
	}
	if s.buf.Len() < flushBytes {
		return nil
	}
	return s.flush()
}

// finish writes the end of the stream. If there was no row, it writes the schema first.
func (s *stream) finish() error {
	if err := s.writer.Close(); err != nil {
		return fmt.Errorf("write the end of Arrow IPC: %w", err)
	}
	return s.flush()
}

func (s *stream) flush() error {
	err := s.send(s.buf.Bytes())
	s.buf.Reset()
	return err
}
