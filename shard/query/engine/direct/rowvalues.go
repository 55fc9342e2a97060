package direct

import (
	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// columnOf returns a column of a batch, or nil if all its values are null.
func columnOf(b *column.Batch, id uint32) *column.View {
	if v := b.Column(id); v != nil && v.Nulls < b.Rows {
		return v
	}
	return nil
}

// numbers returns a test of a column of integers, times or booleans.
func (t *tester) numbers(c *schema.Column, test func(v int64) bool) rowTest {
	return t.verdicts(c, func(v int64) truth {
		if test(v) {
			return yes
		}
		return no
	})
}

// verdicts tests the values of a numeric column. If values have one byte, each different value is
// tested once.
func (t *tester) verdicts(c *schema.Column, test func(v int64) truth) rowTest {
	id := t.use(c).ID
	return func(b *column.Batch, out []truth) {
		v := columnOf(b, id)
		switch {
		case v == nil:
			clear(out)
			return
		case v.Width == 0:
			one := test(v.Base)
			for i := range out {
				out[i] = one
			}
		case v.Width == 1 && len(out) >= 256:
			var table [256]truth
			for i := range table {
				table[i] = test(v.Base + int64(i))
			}
			for i, code := range v.Data[:len(out)] {
				out[i] = table[code]
			}
		default:
			for i := range out {
				out[i] = test(v.Int(i))
			}
		}
		dropNulls(v, out)
	}
}

// floats returns a test of a column of doubles.
func (t *tester) floats(c *schema.Column, test func(v float64) bool) rowTest {
	id := t.use(c).ID
	return func(b *column.Batch, out []truth) {
		clear(out)
		v := columnOf(b, id)
		if v == nil {
			return
		}
		for i := range out {
			if test(v.Float(i)) {
				out[i] = yes
			}
		}
		dropNulls(v, out)
	}
}

// texts returns a test of a column of texts. Each entry of a dictionary is tested once.
func (t *tester) texts(c *schema.Column, test func(v []byte) bool) rowTest {
	id := t.use(c).ID
	return func(b *column.Batch, out []truth) {
		clear(out)
		v := columnOf(b, id)
		if v == nil {
			return
		}
		if v.Encoding == column.Dict {
			entries := make([]truth, v.DictLen)
			for i := range entries {
				if test(v.Entry(i)) {
					entries[i] = yes
				}
			}
			for i := range out {
				out[i] = entries[v.Code(i)]
			}
		} else {
			for i := range out {
				if test(v.Bytes(i)) {
					out[i] = yes
				}
			}
		}
		dropNulls(v, out)
	}
}

// dropNulls sets the result to false for rows that are null.
func dropNulls(v *column.View, out []truth) {
	if v.Validity == nil {
		return
	}
	for i := range out {
		if v.IsNull(i) {
			out[i] = no
		}
	}
}
