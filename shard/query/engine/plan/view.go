package plan

import (
	"encoding/binary"
	"fmt"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// CheckView checks that reading the view's rows stays within its slices, and that the values belong
// to a column of type want. The column's type may have been narrower when they were written. The
// decoder of the batch has already checked the offsets and codes.
func CheckView(v *column.View, want schema.Type, rows int) error {
	if v.Type.Widens(want) == schema.WidensNever {
		return fmt.Errorf("values of type %s in a column of type %s", v.Type, want)
	}
	if v.Rows != rows || v.Validity != nil && len(v.Validity) < (rows+7)/8 {
		return fmt.Errorf("view of %d rows in a batch of %d, validity %d bytes", v.Rows, rows, len(v.Validity))
	}
	width, ok := int(v.Width), false
	switch v.Encoding {
	case column.Fixed:
		ok = widthFits(v, want) && len(v.Data) >= rows*width
	case column.Plain:
		ok = want.IsBytes() && stringsFit(v, rows)
	case column.Dict:
		ok = want.IsBytes() && width <= 2 && len(v.Codes) >= rows*width && v.DictLen > 0 && stringsFit(v, v.DictLen)
	}
	if !ok {
		return fmt.Errorf("malformed view: type %s, encoding %d, width %d, base %d, dictionary %d, lengths %d %d %d, rows %d",
			v.Type, v.Encoding, v.Width, v.Base, v.DictLen, len(v.Data), len(v.Offsets), len(v.Codes), rows)
	}
	return nil
}

// widthFits reports whether numbers of a column of type want may have the view's width and base.
func widthFits(v *column.View, want schema.Type) bool {
	switch v.Type {
	case schema.Float64:
		return (v.Width == 0 || v.Width == 8) && v.Base == 0
	case schema.Float32:
		return (v.Width == 0 || v.Width == 4) && v.Base == 0
	}
	switch v.Width {
	case 0, 1, 2, 4, 8:
		return !want.IsBytes()
	}
	return false
}

func stringsFit(v *column.View, n int) bool {
	return len(v.Offsets) >= 4*(n+1) && int(binary.LittleEndian.Uint32(v.Offsets[4*n:])) <= len(v.Data)
}
