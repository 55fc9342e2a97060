package plan

import "cordwood/shard/query"

// columnIn returns a column of a file, if the file has it.
func columnIn(s *query.Segment, column uint32) (c query.SegmentColumn, ok bool) {
	for i := range s.Columns {
		if s.Columns[i].ID == column {
			return s.Columns[i], true
		}
	}
	return c, false
}

// FieldOf returns the field id of a column in a file, if the file has it.
func FieldOf(s *query.Segment, column uint32) (uint32, bool) {
	c, ok := columnIn(s, column)
	return fieldID(c), ok
}

// fieldsOf returns the field ids of a file by column id.
func fieldsOf(s *query.Segment) map[uint32]uint32 {
	fields := make(map[uint32]uint32, len(s.Columns))
	for _, c := range s.Columns {
		fields[c.ID] = fieldID(c)
	}
	return fields
}

func fieldID(c query.SegmentColumn) uint32 {
	if c.FieldID == 0 {
		return c.ID
	}
	return c.FieldID
}
