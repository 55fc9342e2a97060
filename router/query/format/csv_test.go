package format

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestCSVWithoutFormulas checks that texts which a spreadsheet would run are marked as texts, and that nothing else
// changes. Without the option, CSV is exact.
func TestCSVWithoutFormulas(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "=name", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	texts := []string{"=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=x", "＝1", "a=b", "'=1", " =1", "", `=a,"b"`}
	b.Field(0).(*array.StringBuilder).AppendValues(texts, nil)
	for range texts {
		b.Field(1).(*array.Int64Builder).Append(-1)
	}
	rec := b.NewRecordBatch()
	for noFormulas, want := range map[bool]string{
		false: "=name,n\r\n=1+1,-1\r\n+1,-1\r\n-1,-1\r\n@SUM(A1),-1\r\n\tx,-1\r\n\"\r=x\",-1\r\n" +
			"＝1,-1\r\na=b,-1\r\n'=1,-1\r\n" +
			"\" =1\",-1\r\n\"\",-1\r\n\"=a,\"\"b\"\"\",-1\r\n",
		true: "'=name,n\r\n'=1+1,-1\r\n'+1,-1\r\n'-1,-1\r\n'@SUM(A1),-1\r\n'\tx,-1\r\n\"'\r=x\",-1\r\n" +
			"'＝1,-1\r\na=b,-1\r\n'=1,-1\r\n\" =1\",-1\r\n\"\",-1\r\n\"'=a,\"\"b\"\"\",-1\r\n",
	} {
		var out bytes.Buffer
		if _, err := WriteWith(&out, CSVWithNames, rowsOf(rec), Options{NoFormulas: noFormulas}); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%v: %q, want %q", noFormulas, out.String(), want)
		}
	}
}
