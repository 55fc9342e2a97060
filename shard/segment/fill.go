package segment

import "cordwood/proto/schema"

// Fill is the value that replaces nulls of a column. Int, Float and Bytes are the value in the form of the column's
// type; a number has both Int and Float, because a file may be older than a wider type of the column.
type Fill struct {
	Column schema.Column
	Int    int64
	Float  float64
	Bytes  []byte
}
