package partial

import (
	"bytes"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
)

// Number returns an Arrow IPC stream with one row, which has the number n in each column.
func Number(n int64, names ...string) ([]byte, error) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(n)
	value := b.NewArray()
	defer value.Release()
	fields, columns := make([]arrow.Field, len(names)), make([]arrow.Array, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
		columns[i] = value
	}
	s := arrow.NewSchema(fields, nil)
	record := array.NewRecordBatch(s, columns, 1)
	defer record.Release()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	if err := errors.Join(w.Write(record), w.Close()); err != nil {
		return nil, errs.Wrap(errs.Internal, err, "query: write a number of rows")
	}
	return out.Bytes(), nil
}
