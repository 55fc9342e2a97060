package processor

// Described describes an option of a processor for editors.
type Described struct {
	Name string
	// Type is a JSON type, or "fields" for a list of fields, or "strings" for one text or a list of texts.
	Type string
	// Enum lists the allowed values, if they are limited.
	Enum     []string
	Required bool
	Doc      string
}

// fieldOptions are the options of processors that work on fields.
var fieldOptions = []Described{
	{Name: "field", Type: "fields", Doc: "The field: its name, or \"name, new name\"."},
	{Name: "fields", Type: "fields", Doc: "The fields: a list of names, each with an optional new name."},
}

var ignoreMissing = Described{
	Name: "ignore_missing", Type: "boolean", Doc: "Ignore records without the field; false makes that an error.",
}

// described has the options of each kind of processor, except those in fieldOptions.
var described = map[string]struct {
	doc     string
	missing bool // whether it has ignore_missing
	bare    bool // whether it has no fields
	own     []Described
}{
	"cmcd": {doc: "Parse the reports of media players: pairs of Common Media Client Data.", missing: true},
	"csv": {doc: "Extract fields from a line of separated values.", missing: true, own: []Described{
		{
			Name: "target_fields", Type: "strings", Required: true,
			Doc: "The names of the fields, a list or separated by commas.",
		},
		{Name: "separator", Type: "string", Doc: "The byte between values, by default a comma."},
		{Name: "quote", Type: "string", Doc: "The byte around values, by default a double quote."},
		{Name: "trim", Type: "boolean", Doc: "Remove spaces around values."},
		{
			Name: "empty_value", Type: "string",
			Doc: "The value of targets that the line has no value for, by default null.",
		},
	}},
	"date": {doc: "Parse texts as times.", missing: true, own: []Described{
		{Name: "formats", Type: "strings", Doc: "strftime patterns, tried in order; by default ISO 8601."},
		{
			Name: "timezone", Type: "string",
			Doc: "The zone of texts without an offset, such as Europe/Berlin; by default UTC.",
		},
		{Name: "locale", Type: "string", Doc: "Has no effect."},
	}},
	"decolorize": {doc: "Remove the escape sequences for terminal colours from texts.", missing: true},
	"digest": {doc: "Remove the variable parts of a message into FIELD_digest.", missing: true, own: []Described{
		{
			Name: "presets", Type: "strings", Enum: []string{"numbers", "quoted", "bracketed", "uuid", "ip"},
			Doc: "The kinds of parts to remove.",
		},
		{Name: "regex", Type: "strings", Doc: "Patterns of other parts to remove."},
	}},
	"dissect": {doc: "Extract fields from texts by patterns of literal text and names.", missing: true, own: []Described{
		{Name: "pattern", Type: "strings", Doc: "The pattern, such as %{ip} %{method}."},
		{Name: "patterns", Type: "strings", Doc: "Patterns; the first that matches is used."},
		{Name: "append_separator", Type: "string", Doc: "The text between joined captures, by default a space."},
	}},
	"epoch": {doc: "Parse numbers as times since 1970.", missing: true, own: []Described{
		{Name: "resolution", Type: "string", Enum: resolutionNames, Doc: "The unit of the numbers, by default ms."},
	}},
	"filter": {doc: "Drop the records that have certain texts in a field.", own: []Described{
		{Name: "targets", Type: "strings", Required: true, Doc: "The texts."},
		{
			Name: "match_op", Type: "string", Enum: []string{"in", "not_in"},
			Doc: "in drops records with one of the texts, not_in drops the others.",
		},
		{Name: "case_insensitive", Type: "boolean", Doc: "Ignore upper and lower case, by default true."},
		{Name: "mode", Type: "string", Enum: []string{"simple"}, Doc: "The only mode."},
	}},
	"geoip": {doc: "Look up the locations of addresses in a database of the server.", missing: true, own: []Described{
		{Name: "properties", Type: "strings", Doc: "The properties to store, by default all."},
		{Name: "language", Type: "string", Doc: "The language of names, by default en."},
	}},
	"grok": {doc: "Parse texts by named patterns.", missing: true, own: []Described{
		{Name: "pattern", Type: "strings", Doc: "The pattern, such as %{IPORHOST:client} %{WORD:method}."},
		{Name: "patterns", Type: "strings", Doc: "Patterns; the first that matches is used."},
		{Name: "pattern_definitions", Type: "object", Doc: "Additional regular expressions, by name."},
		{
			Name: "ignore_no_match", Type: "boolean",
			Doc: "Ignore records that no pattern matches; false makes that an error.",
		},
		{Name: "prefix", Type: "string", Doc: "A prefix for the names of all fields."},
	}},
	"gsub": {doc: "Replace every match of a pattern.", missing: true, own: []Described{
		{Name: "pattern", Type: "string", Required: true, Doc: "A regular expression in RE2 syntax."},
		{
			Name: "replacement", Type: "string", Required: true,
			Doc: "The replacement; $1 and ${name} stand for groups.",
		},
	}},
	"join": {doc: "Join an array into one text.", missing: true, own: []Described{
		{Name: "separator", Type: "string", Required: true, Doc: "The text between the elements."},
	}},
	"json_parse": {doc: "Parse texts that contain JSON.", missing: true, own: []Described{
		{Name: "into_root", Type: "boolean", Doc: "The members become fields of the record."},
		{Name: "remove_source", Type: "boolean", Doc: "Remove the text; only with into_root."},
	}},
	"json_path": {doc: "Select parts of an array or object.", missing: true, own: []Described{
		{Name: "json_path", Type: "string", Required: true, Doc: "An RFC 9535 query, such as $.items[0].name."},
		{
			Name: "result_index", Type: "integer",
			Doc: "The number of the match to use as the result; without it, all matches.",
		},
	}},
	"key_value": {doc: "Parse pairs of keys and values.", missing: true, own: append([]Described{
		{Name: "field_split", Type: "string", Doc: "The text between pairs, by default white space."},
		{Name: "value_split", Type: "string", Doc: "The text between key and value, by default =."},
		{Name: "quotes", Type: "string", Doc: "The quotation marks for keys and values."},
		{Name: "trim_key", Type: "string", Doc: "Characters to remove at the ends of keys."},
		{Name: "trim_value", Type: "string", Doc: "Characters to remove at the ends of values."},
	}, describedPairs...)},
	"letter": {doc: "Change the case of texts.", missing: true, own: []Described{
		{
			Name: "method", Type: "string", Enum: []string{"lower", "upper", "capital"},
			Doc: "The new case, by default lower.",
		},
	}},
	"logfmt": {doc: "Parse pairs key=value, which many programs log.", missing: true, own: describedPairs},
	"regex": {doc: "Extract the named groups of patterns as fields.", missing: true, own: []Described{
		{Name: "pattern", Type: "strings", Doc: "A regular expression in RE2 syntax, such as (?<ip>\\S+)."},
		{Name: "patterns", Type: "strings", Doc: "A list of regular expressions, all of which are applied."},
	}},
	"select": {doc: "Remove fields.", own: []Described{
		{
			Name: "type", Type: "string", Enum: []string{"include", "exclude"},
			Doc: "include keeps only the fields, exclude removes them.",
		},
	}},
	"simple_extract": {doc: "Extract a value from an object.", missing: true, own: []Described{
		{Name: "key", Type: "string", Doc: "Names of members joined by dots."},
	}},
	"syslog": {doc: "Parse messages of RFC 5424 and RFC 3164.", missing: true, own: []Described{
		{Name: "format", Type: "string", Enum: []string{"auto", "rfc5424", "rfc3164"}, Doc: "The format, by default auto."},
		{Name: "timezone", Type: "string", Doc: "The zone of times without an offset, by default UTC."},
		{Name: "year", Type: "integer", Doc: "The year of times without one."},
		{Name: "prefix", Type: "string", Doc: "A prefix for the names of all fields."},
	}},
	"urlencoding": {doc: "Decode or encode percent escapes.", missing: true, own: []Described{
		{Name: "method", Type: "string", Enum: []string{"decode", "encode"}, Doc: "The direction, by default decode."},
	}},
	"user_agent": {doc: "Parse the User-Agent header of a request.", missing: true, own: []Described{
		{Name: "properties", Type: "strings", Doc: "The properties to store, by default all."},
	}},
	"vrl": {doc: "Run a VRL program on the record.", bare: true, own: []Described{
		{Name: "source", Type: "string", Required: true, Doc: "The program; it ends with . to keep the record."},
	}},
}

// describedPairs are the options of key_value and logfmt.
var describedPairs = []Described{
	{Name: "prefix", Type: "string", Doc: "A prefix for the names of all pairs."},
	{Name: "standalone_keys", Type: "boolean", Doc: "A key without a value is a pair with the value true."},
	{Name: "include_keys", Type: "strings", Doc: "The keys to store, by default all."},
	{Name: "exclude_keys", Type: "strings", Doc: "Keys to skip."},
}

// DescribeKind returns the description of a kind of processor, and its options.
func DescribeKind(name string) (doc string, options []Described) {
	d := described[name]
	if !d.bare {
		options = append(options, fieldOptions...)
	}
	options = append(options, d.own...)
	if d.missing {
		options = append(options, ignoreMissing)
	}
	return d.doc, options
}
