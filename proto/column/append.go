package column

// AppendRows appends the rows of src, which must not have an unfinished row, to the complete rows
// of b. Columns are matched by their ID, which must be set and unique in both. A column must have
// the same type in both, or a type in src that widens to the one in b; a column that one of them
// lacks is null there. src keeps its rows, and b keeps none of its memory.
func (b *Builder) AppendRows(src *Builder) {
	src.Finish()
	for i, from := range src.cols {
		b.columnFor(i, from).appendCol(b.rows, from)
	}
	b.rows += src.rows
}

// columnFor returns the column for the values of another builder's column i.
func (b *Builder) columnFor(i int, from *Col) *Col {
	if i < len(b.cols) && b.cols[i].ID == from.ID {
		return b.cols[i] // usually the builders have the same columns
	}
	for _, c := range b.cols {
		if c.ID == from.ID {
			return c
		}
	}
	return b.Add(from.Column)
}

// appendCol appends the rows of from, starting at row at.
func (c *Col) appendCol(at int, from *Col) {
	c.pad(at)
	if from.Type.IsBytes() {
		base := uint32(len(c.bytes))
		if c.validUTF8(base) && from.validUTF8(uint32(len(from.bytes))) {
			c.marked = base + uint32(len(from.bytes))
		}
		c.bytes = append(c.bytes, from.bytes...)
		for _, end := range from.ends {
			c.ends = append(c.ends, base+end)
		}
	} else {
		c.fixed = append(c.fixed, from.fixed...)
		if c.Type.IsFloat() && from.Type.IsInteger() {
			toFloats(c.fixed[at:], from.Type)
		}
	}
	n := at + from.n
	switch {
	case c.nulls+from.nulls == 0:
		c.n = n
		return
	case c.nulls == 0:
		c.valid = ones(c.valid[:0], at)
	}
	valid := from.valid
	if from.nulls == 0 {
		valid = ones(nil, from.n)
	}
	words := (n + 63) >> 6
	for len(c.valid) < words {
		c.valid = append(c.valid, 0)
	}
	word, shift := at>>6, at&63
	for i, w := range valid {
		c.valid[word+i] |= w << shift
		if shift > 0 && word+i+1 < words {
			c.valid[word+i+1] |= w >> (64 - shift)
		}
	}
	c.nulls += from.nulls
	c.n = n
}

// SetFrom sets the value of a row to the value of another column, which may be null. The type of
// the other column is the same, or widens to the type of c (schema.Type.Widens).
func (c *Col) SetFrom(row int, v *View, from int) {
	switch {
	case v.IsNull(from):
		c.SetNull(row)
	case v.Type.IsBytes():
		c.SetBytes(row, v.Bytes(from))
	case c.Type.IsFloat():
		c.SetFloat(row, v.Float(from))
	default:
		c.SetInt(row, v.Int(from))
	}
}

// AppendSome appends some rows of src, which must not have an unfinished row, to the complete rows
// of b, in the given order. See AppendRows.
func (b *Builder) AppendSome(src *Builder, rows []int) {
	src.Finish()
	for i, from := range src.cols {
		c := b.columnFor(i, from)
		for n, row := range rows {
			switch at := b.rows + n; {
			case from.IsNull(row):
				c.SetNull(at)
			case from.Type.IsBytes():
				c.SetBytes(at, from.Bytes(row))
			case from.Type.IsFloat():
				c.SetFloat(at, from.Float(row))
			case c.Type.IsFloat():
				c.SetFloat(at, from.Type.FloatOf(from.Int(row)))
			default:
				c.SetInt(at, from.Int(row))
			}
		}
	}
	b.rows += len(rows)
}
