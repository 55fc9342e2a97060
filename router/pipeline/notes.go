package pipeline

import "fmt"

// notes count what is stored otherwise than it came, though by the rules: clients are told.
type notes struct {
	replaced int // fields called as the time index, whose place the time of processing takes
	repeated int // keys that an object has more than once
}

// warnings are the notes in words.
func (n *notes) warnings(timeName string) (out []string) {
	if n.replaced > 0 {
		out = append(out, fmt.Sprintf("%d values of the field %q were not stored: the column of that name has the time of arrival; custom_time_index or a pipeline makes a field the time", n.replaced, timeName))
	}
	if n.repeated > 0 {
		out = append(out, fmt.Sprintf("%d keys came more than once in an object: the last value of each was stored", n.repeated))
	}
	return out
}
