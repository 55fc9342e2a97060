package processor

import "strings"

// compileKeyValue: key_value parses pairs of keys and values. All values are strings.
//
//	field_split:     text between pairs; default any white space
//	value_split:     text between key and value; default =
//	quotes:          the marks in which keys and values may stand, each of which begins
//	                 and ends a text; of the brackets ( [ { < give the opening ones, and
//	                 the closing ones end the text. Default "', and "" for none. Inside, a
//	                 backslash takes the meaning from a mark and from itself.
//	prefix:          text in front of the names of all pairs; default none
//	trim_key:        characters to remove at both ends of keys; default none
//	trim_value:      the same of values
//	include_keys:    list of the only keys to take; default all
//	exclude_keys:    list of keys to pass over; default none
//	standalone_keys: true: a key without value_split is a pair with the value true;
//	                 false (default): it is passed over
//
// The pairs become fields of the record. If the field list gives a new name, they become members of an object of that
// name. The field itself stays, unless a pair has its name. If two pairs have the same key, the later one is stored. No
// text is refused: a mark that is not closed is part of the value, which ends at the next field_split.
func compileKeyValue(o *Options) Apply {
	options := readPairOptions(o, false)
	options.trimKey = o.String("trim_key", "")
	options.trimValue = o.String("trim_value", "")
	syntax := &pairSyntax{
		fieldSplit: splitText(o, "field_split", ""),
		valueSplit: splitText(o, "value_split", "="),
		unescape:   unescapeMarks,
	}
	if syntax.fieldSplit == syntax.valueSplit {
		o.Fault("field_split and value_split are the same text")
	}
	marks := `"'`
	n := o.Get("quotes")
	if n != nil {
		marks, _ = n.String()
	}
	for i := range len(marks) {
		c := marks[i]
		if c <= ' ' || c >= 0x7f || c == '\\' || isUnreserved(c) && c != '~' {
			n.Fault("quotes may only contain ASCII marks, such as \" ' ` ( [ { <; %q is not one", Cut(marks))
			break
		}
		syntax.closing[c] = c
		if at := strings.IndexByte("([{<", c); at >= 0 {
			syntax.closing[c] = ")]}>"[at]
		}
	}
	return options.apply(syntax)
}

// maxSplit limits the number of bytes of a text between pairs, or between key and value.
const maxSplit = 64

func splitText(o *Options, key, otherwise string) string {
	n := o.Get(key)
	if n == nil {
		return otherwise
	}
	text, ok := n.String()
	if ok && (text == "" || len(text) > maxSplit) {
		n.Fault("expected a text of 1 to %d bytes", maxSplit)
		return otherwise
	}
	return text
}
