package column

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"cordwood/proto/schema"
)

// inspectRows is the number of rows that Inspect prints.
const inspectRows = 10

// Inspect prints an encoded batch as text: header, columns, the first rows. If the batch is damaged
// or unsupported, it prints as much as possible and returns the error.
func Inspect(w io.Writer, src []byte) error {
	if err := checkMagic(src); err != nil {
		return err
	}
	// The writer keeps its first error until Flush.
	out := bufio.NewWriter(w)
	v := binary.LittleEndian.Uint16(src[offVersion:])
	_, _ = fmt.Fprintf(out, "column batch, format version %d, %d bytes\n", v, len(src))
	err := inspect(out, src)
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	return err
}

func inspect(out *bufio.Writer, src []byte) error {
	if f, err := parseHeader(src); err == nil {
		h := f.Header
		_, _ = fmt.Fprintf(out, "table %d  epoch %d  schema version %d  session %#016x  seq %d\n", h.TableID, h.Epoch,
			h.SchemaVersion, h.Session, h.Seq)
		_, _ = fmt.Fprintf(out, "rows %d  columns %d  time index %d to %d\n", h.Rows, f.columns, h.MinTime, h.MaxTime)
		_, _ = fmt.Fprintf(out, "block %d bytes, %d inflated, checksum %#08x\n", len(f.block), f.body,
			binary.LittleEndian.Uint32(src[offCRC:]))
	}
	b, err := Decode(src, nil)
	if err != nil {
		return err
	}
	_ = out.WriteByte('\n')
	return Print(out, b)
}

// Print prints the columns of a batch and its first rows.
func Print(w io.Writer, b *Batch) error {
	out := bufio.NewWriter(w)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "column\ttype\tencoding\twidth\tbase\tnulls\tentries\tbytes")
	for i := range b.Cols {
		v := &b.Cols[i]
		_, _ = fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", v.ID, v.Type, v.Encoding, v.Width, v.Base, v.Nulls,
			v.DictLen,
			len(v.Validity)+len(v.Offsets)+len(v.Codes)+len(v.Data))
	}
	_ = t.Flush()
	rows := min(b.Rows, inspectRows)
	for row := range rows {
		_, _ = fmt.Fprintf(out, "\nrow %d\n", row)
		for i := range b.Cols {
			v := &b.Cols[i]
			_, _ = fmt.Fprintf(out, "  %d: %s\n", v.ID, v.Text(row))
		}
	}
	if rows < b.Rows {
		_, _ = fmt.Fprintf(out, "\n%d more rows\n", b.Rows-rows)
	}
	return out.Flush()
}

// String returns the encoding's name.
func (e Encoding) String() string {
	switch e {
	case Fixed:
		return "fixed"
	case Plain:
		return "plain"
	case Dict:
		return "dict"
	}
	return "encoding " + strconv.Itoa(int(e))
}

// Text returns row i as readable text: byte strings are quoted and shortened, and timestamps are in UTC.
func (v *View) Text(i int) string {
	switch {
	case v.IsNull(i):
		return "null"
	case v.Type.IsBytes():
		const most = 200
		if s := v.Bytes(i); len(s) > most {
			return fmt.Sprintf("%q… %d bytes", s[:most], len(s))
		}
		return strconv.Quote(string(v.Bytes(i)))
	case v.Type == schema.Boolean:
		return strconv.FormatBool(v.Int(i) != 0)
	case v.Type == schema.Float32:
		return strconv.FormatFloat(v.Float(i), 'g', -1, 32)
	case v.Type.IsFloat():
		return strconv.FormatFloat(v.Float(i), 'g', -1, 64)
	case v.Type == schema.Uint64:
		return strconv.FormatUint(uint64(v.Int(i)), 10)
	case v.Type == schema.TimestampSecond:
		return timeText(time.Unix(v.Int(i), 0))
	case v.Type == schema.TimestampMillisecond:
		return timeText(time.UnixMilli(v.Int(i)))
	case v.Type == schema.TimestampMicrosecond:
		return timeText(time.UnixMicro(v.Int(i)))
	case v.Type == schema.TimestampNanosecond:
		return timeText(time.Unix(0, v.Int(i)))
	}
	return strconv.FormatInt(v.Int(i), 10)
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
