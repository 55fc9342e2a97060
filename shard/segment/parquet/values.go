package parquet

// Values are the values of a column in a row group, or in some of its rows.
type Values struct {
	Rows int
	// Valid has bit i&63 of word i>>6 set if row i has a value. It is nil if all rows have one. The
	// fields below have entries only for rows with a value.
	Valid []uint64
	// Numbers are the values of a column of numbers: integers sign-extended, or, if they are
	// unsigned, zero-extended; floats as their bits; booleans as 0 and 1.
	Numbers []uint64
	// Data and Ends are the values of a column of byte strings: string i is
	// Data[Ends[i-1]:Ends[i]], and the first begins at 0. If Dict is set, they are the entries of a
	// dictionary, all of them used and none twice, and the values are the Codes.
	Data  []byte
	Ends  []uint32
	Dict  bool
	Codes []uint32
}

// start returns the offset of byte string i, or the end of all of them if there are i.
func start(ends []uint32, i int) int {
	if i == 0 {
		return 0
	}
	return int(ends[i-1])
}

// entry returns byte string i of data.
func entry(data []byte, ends []uint32, i int) []byte { return data[start(ends, i):ends[i]] }

// Reset empties v and keeps its memory.
func (v *Values) Reset() {
	*v = Values{Valid: v.Valid[:0], Numbers: v.Numbers[:0], Data: v.Data[:0], Ends: v.Ends[:0], Codes: v.Codes[:0]}
}

// Entry returns byte string i, or entry i of the dictionary.
func (v *Values) Entry(i int) []byte { return entry(v.Data, v.Ends, i) }

// count returns the number of values, which is the number of non-null rows.
func (v *Values) count(numbers bool) int {
	switch {
	case numbers:
		return len(v.Numbers)
	case v.Dict:
		return len(v.Codes)
	}
	return len(v.Ends)
}
