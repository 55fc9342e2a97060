package processor

// compileLogfmt: logfmt reads pairs key=value separated by white space, as many programs
// write their logs: level=info msg="a b" cached. Values may be in double quotes, inside
// which \" \\ \n \t \r and \u00e4 are escapes. All values are strings.
//
//	prefix:          text in front of the names of all pairs; default none
//	standalone_keys: true (default): a key without = is a pair with the value true;
//	                 false: it is passed over
//	include_keys:    list of the only keys to take; default all
//	exclude_keys:    list of keys to pass over; default none
//
// The pairs become fields of the record. If the field list gives a new name, they become members of an object of that
// name. The field itself stays, unless a pair has its name. If two pairs have the same key, the later one counts. No
// text is refused: a quotation mark that is not closed is part of the value, which ends at the next white space.
func compileLogfmt(o *Options) Apply {
	options := readPairOptions(o, true)
	syntax := &pairSyntax{valueSplit: "=", unescape: unescapeAll}
	syntax.closing['"'] = '"'
	return options.apply(syntax)
}
