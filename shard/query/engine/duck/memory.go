package duck

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query/engine/plan"
)

/*
#include <stdlib.h>
#include "scan.h"
*/
import "C"

// morselRows is how many rows of a batch a thread scans at a time.
const morselRows = 16 << 10

// relation makes the batches of a table readable to DuckDB until it is released.
type relation struct {
	c   *C.cw_relation
	pin runtime.Pinner
	// numbers are 0, 1, 2 …: the row numbers of a batch.
	numbers []byte
}

// RegisterBatches makes the batches readable as cordwood_scan(id), under the given names of the
// columns. The caller releases them after the last query on them has ended.
func RegisterBatches(names []string, columns []schema.Column, batches []plan.Part) (plan.Registration, error) {
	morsels, rows := 0, 0
	for _, p := range batches {
		morsels += (p.Batch.Rows + morselRows - 1) / morselRows
		rows = max(rows, p.Batch.Rows)
	}
	r := &relation{c: C.cw_relation_new(C.uint32_t(len(columns)), C.uint32_t(len(batches)), C.uint32_t(morsels))}
	if r.c == nil {
		return nil, fmt.Errorf("describe %d batches to the engine: out of memory", len(batches))
	}
	for i, col := range unsafe.Slice(r.c.columns, len(columns)) {
		t, ok := plan.EngineTypes[columns[i].Type]
		if !ok {
			r.Release()
			return nil, fmt.Errorf("column %q: no type %d in the engine", columns[i].Name, columns[i].Type)
		}
		col.name, col._type, col.json = C.CString(names[i]), C.int(t.Number), C.bool(columns[i].Type == schema.JSON)
		unsafe.Slice(r.c.columns, len(columns))[i] = col
	}
	views := unsafe.Slice(r.c.views, len(batches)*len(columns))
	runs := unsafe.Slice(r.c.morsels, morsels)[:0]
	if columns[len(columns)-1].ID == plan.OrderColumnID {
		r.number(rows)
	}
	for i, p := range batches {
		b := p.Batch
		if err := r.addBatch(views[i*len(columns):(i+1)*len(columns)], columns, p); err != nil {
			r.Release()
			return nil, fmt.Errorf("batch %d of %d: %w", i+1, len(batches), err)
		}
		r.c.rows += C.uint64_t(b.Rows)
		for from := 0; from < b.Rows; from += morselRows {
			runs = append(runs, C.cw_morsel{
				batch: C.uint32_t(i), from: C.uint32_t(from), to: C.uint32_t(min(from+morselRows, b.Rows)),
			})
		}
	}
	if C.cw_relation_publish(r.c) == 0 {
		r.Release()
		return nil, fmt.Errorf("describe %d batches to the engine: too many queries run at once; try again", len(batches))
	}
	return r, nil
}

// ID returns the argument of cordwood_scan.
func (r *relation) ID() uint64 { return uint64(r.c.id) }

// Release ends DuckDB's access to the batches.
func (r *relation) Release() {
	C.cw_relation_free(r.c)
	r.c = nil
	r.pin.Unpin()
}

// number creates the row numbers for columns with the id of a row number.
func (r *relation) number(rows int) {
	r.numbers = make([]byte, 0, 4*rows+16)
	for i := range rows {
		r.numbers = binary.LittleEndian.AppendUint32(r.numbers, uint32(i))
	}
	r.keep(r.numbers)
}

func (r *relation) addBatch(out []C.cw_view, columns []schema.Column, p plan.Part) error {
	b := p.Batch
	mem := memory(b.Mem)
	r.keep(b.Mem)
	for i := range columns {
		if columns[i].ID == plan.OrderColumnID {
			out[i] = C.cw_view{
				data: start(r.numbers), base: C.int64_t(int64(p.Rank) << plan.RowBits),
				encoding: C.uint8_t(column.Fixed), width: 4,
			}
			continue
		}
		v := b.Column(columns[i].ID)
		if v == nil || v.Nulls == b.Rows && b.Rows > 0 {
			continue
		}
		if err := plan.CheckView(v, columns[i].Type, b.Rows); err != nil {
			return fmt.Errorf("column %q: %w", columns[i].Name, err)
		}
		for _, part := range [...][]byte{v.Data, v.Offsets, v.Codes, v.Validity} {
			if !mem.contains(part) {
				r.keep(part)
			}
		}
		out[i] = C.cw_view{
			data: start(v.Data), offsets: start(v.Offsets), codes: start(v.Codes), validity: start(v.Validity),
			base: C.int64_t(v.Base), dict_len: C.uint32_t(v.DictLen), encoding: C.uint8_t(v.Encoding), width: C.uint8_t(v.Width),
			from: doublesFrom(v.Type, columns[i].Type),
		}
	}
	return nil
}

// doublesFrom returns how values of a narrower type are converted to a column's type. Integers only
// need to be widened.
func doublesFrom(narrow, wide schema.Type) C.uint8_t {
	switch {
	case narrow == wide || !wide.IsFloat():
		return C.CW_AS_IS
	case narrow == schema.Float32:
		return C.CW_FROM_FLOAT
	case narrow == schema.Uint64:
		return C.CW_FROM_UNSIGNED
	}
	return C.CW_FROM_SIGNED
}

// keep pins memory on the Go heap, so that it is not moved or freed. Other memory needs no pin.
func (r *relation) keep(mem []byte) {
	if cap(mem) > 0 {
		r.pin.Pin(unsafe.SliceData(mem))
	}
}

func start(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(b))) }

// addresses holds the pointers to some memory.
type addresses struct{ from, to uintptr }

func memory(b []byte) addresses {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return addresses{from: from, to: from + uintptr(len(b))}
}

func (a addresses) contains(b []byte) bool {
	in := memory(b)
	return in.from >= a.from && in.to <= a.to
}
