package pipeline

import (
	"fmt"

	"cordwood/proto/words"
)

// notes counts values that are changed when they are stored. Clients get warnings about them.
type notes struct {
	replaced  int // fields with the name of the time index, replaced by the time of processing
	repeated  int // repeated keys in objects
	lone      int // escapes of lone surrogates
	cut       int // times with a finer resolution than the unit of their column
	rounded   int // integers for which VRL's parse_json returned a float with another value
	vanished  int // nonzero numbers that became the float 0
	fractions int // numbers whose fraction the processor epoch dropped

	grokFractions int // numbers whose fraction the processor grok dropped
	grokDigits    int // numbers with more digits than the float from grok
}

// Changes counts values without a pipeline that are changed when they are stored.
type Changes struct {
	// Repeated counts repeated keys in JSON objects.
	Repeated int
	// Lone counts escapes of lone surrogates.
	Lone int
	// Cut counts times with a finer resolution than the unit of their column.
	Cut int
	// Vanished counts nonzero numbers that became 0.
	Vanished int
}

// Add adds the counts of other values.
func (c *Changes) Add(other Changes) {
	c.Repeated += other.Repeated
	c.Lone += other.Lone
	c.Cut += other.Cut
	c.Vanished += other.Vanished
}

// Warnings returns the changes as warnings, with the same texts as for ingestion.
func (c Changes) Warnings() []string {
	n := notes{repeated: c.Repeated, lone: c.Lone, cut: c.Cut, vanished: c.Vanished}
	return n.warnings("")
}

// ExpiredWarning returns a warning about rows that queries do not return.
func (t *TableRows) ExpiredWarning() string {
	return fmt.Sprintf("%s older than the ttl of table %s.%s: stored, shown by no query, and deleted soon; ALTER "+
		"TABLE can set a longer ttl",
		words.Say(t.Expired, "row is", "rows are"), t.Database, t.Table)
}

// warnings returns the notes as warnings.
func (n *notes) warnings(timeName string) (out []string) {
	if n.replaced > 0 {
		out = append(out, fmt.Sprintf("%s of the field %q %s not stored: the column of that name has the time of "+
			"arrival; custom_time_index or a pipeline makes a field the time", words.Count(n.replaced, "value"), timeName,
			words.Pick(n.replaced, "was", "were")))
	}
	if n.repeated > 0 {
		out = append(out, words.Say(n.repeated, "key occurred more than once in an object: its last value was stored",
			"keys occurred more than once in an object: the last value of each was stored"))
	}
	if n.lone > 0 {
		out = append(out, LoneWarning(n.lone))
	}
	if n.cut > 0 {
		out = append(out, words.Say(n.cut, "time is finer than the column that it was stored in: it was rounded down to "+
			"the column's unit",
			"times are finer than the columns that they were stored in: they were rounded down to the columns' units"))
	}
	if n.rounded > 0 {
		out = append(out, words.Say(n.rounded,
			"integer beyond 64 bits was rounded to a float by parse_json: send it as text to keep all digits",
			"integers beyond 64 bits were rounded to floats by parse_json: send them as text to keep all digits"))
	}
	if n.vanished > 0 {
		out = append(out, words.Say(n.vanished,
			"number, such as 1e-400, is too small for a float: 0 was stored instead",
			"numbers, such as 1e-400, are too small for a float: 0 was stored instead"))
	}
	if n.fractions > 0 {
		out = append(out, fmt.Sprintf("%s had a fraction, which the processor epoch dropped: a finer resolution, or a "+
			"time as text for date, keeps it", words.Count(n.fractions, "number")))
	}
	if n.grokFractions > 0 {
		out = append(out, words.Say(n.grokFractions,
			"number lost its fraction, because the grok pattern has the type int for it: the type float keeps it",
			"numbers lost their fraction, because the grok pattern has the type int for them: the type float keeps it"))
	}
	if n.grokDigits > 0 {
		out = append(out, words.Say(n.grokDigits, "number has more digits than the type float of the grok pattern "+
			"can keep: the nearest float was stored; without a type, the part stays text and keeps all digits",
			"numbers have more digits than the type float of the grok pattern can keep: the nearest floats were stored; "+
				"without a type, the parts stay text and keep all digits"))
	}
	return out
}

// LoneWarning returns a warning about n escapes of lone surrogates.
func LoneWarning(n int) string {
	return words.Say(n, `escape \ud800 to \udfff is not a character by itself: U+FFFD was stored in its place`,
		`escapes \ud800 to \udfff are not characters by themselves: U+FFFD was stored in the place of each`)
}
