// Package processor has the processors of pipelines: each changes the fields of one
// record, one step in the list of a pipeline.
//
// A processor is a file: its Compile function reads and checks the options that a
// pipeline gives it, once, and returns an Apply that runs for each record. To add one,
// write the file with its test beside it, and enter it in kinds, below.
//
// What a processor is not: it knows no table, no type of a column and no other
// processor, and it decides nothing about what becomes of a record that it fails on.
//
// An Apply is immutable and is run by many goroutines at once; what changes is in the
// Record, which belongs to one.
package processor

import (
	"errors"
	"strconv"
	"strings"

	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/value"
)

// Apply changes a record. Its error, best made by Record.Fail, is one of the record.
type Apply func(rec *Record) error

// Kind is a processor that a pipeline may name.
type Kind struct {
	Name string
	// Compile reads the options. It notes what is wrong with them in o, whereupon the
	// Apply is not used and may be nil.
	Compile func(o *Options) Apply
}

// kinds is every processor, by name.
var kinds = []Kind{
	{"cmcd", compileCMCD},
	{"csv", compileCSV},
	{"date", compileDate},
	{"decolorize", compileDecolorize},
	{"digest", compileDigest},
	{"dissect", compileDissect},
	{"epoch", compileEpoch},
	{"filter", compileFilter},
	{"geoip", compileGeoIP},
	{"grok", compileGrok},
	{"gsub", compileGsub},
	{"join", compileJoin},
	{"json_parse", compileJSONParse},
	{"json_path", compileJSONPath},
	{"key_value", compileKeyValue},
	{"letter", compileLetter},
	{"logfmt", compileLogfmt},
	{"regex", compileRegex},
	{"select", compileSelect},
	{"simple_extract", compileSimpleExtract},
	{"syslog", compileSyslog},
	{"urlencoding", compileURLEncoding},
	{"user_agent", compileUserAgent},
	{"vrl", compileVRL},
}

// Find returns the processor of that name.
func Find(name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// KindNames lists the names of all processors.
func KindNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}

// Env is what processors may use beside the record. Its zero value offers nothing.
type Env struct {
	// GeoIPDatabase is the path of a database of places of addresses; "": none, and
	// the processor geoip is refused.
	GeoIPDatabase string
}

// Options is what a pipeline says of one processor, with what its Compile needs.
type Options struct {
	*document.Map

	Env Env

	kind  string
	names *Names
	list  *List
}

// TimeField is a field that a processor fills with a time.
type TimeField struct {
	Name string
	// Unit is the unit in seconds^-1, as 1000 for milliseconds.
	Unit int64
	// IgnoreMissing says that records may lack the field.
	IgnoreMissing bool
}

// DeclareTimes says that the processor fills the fields with times of a resolution of
// unit per second. A pipeline without a transform list takes its time index from that.
func (o *Options) DeclareTimes(fs Fields, unit int64) {
	for _, f := range fs.List {
		o.list.Times = append(o.list.Times, TimeField{f.Out.Text, unit, fs.IgnoreMissing})
	}
}

// DeclareTexts says that the processor gives the fields texts, wherever it gives them a value.
func (o *Options) DeclareTexts(names ...string) {
	if o.list.Texts == nil {
		o.list.Texts = map[string]string{}
	}
	for _, name := range names {
		o.list.Texts[name] = o.kind
	}
}

// ownFieldsOnly has the processors that change no fields but those that they name in Options: the
// fields of their lists and those that they declare. Others may change any field.
var ownFieldsOnly = map[string]bool{
	"csv": true, "date": true, "decolorize": true, "digest": true, "dissect": true, "epoch": true,
	"filter": true, "gsub": true, "letter": true, "regex": true, "urlencoding": true,
}

// Name returns the name of a field that the processor reads or writes, known when the
// pipeline is compiled.
func (o *Options) Name(text string) Name { return o.names.Name(text) }

// Error is why a processor failed on a record.
type Error struct {
	// Processor and Position, in the list of the pipeline from 0, are set by the pipeline.
	Processor string
	Position  int
	// Field is the field that it failed on; "" if it is none in particular.
	Field string
	// Value is the value that it failed on as JSON, cut; "" if there is none.
	Value  string
	Reason string
}

func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString("Processor " + e.Processor + ": " + e.Reason)
	if e.Value != "" {
		s.WriteString(": " + e.Value)
	}
	s.WriteString(" (")
	if e.Field != "" {
		s.WriteString("field " + strconv.Quote(Cut(e.Field)) + ", ")
	}
	s.WriteString("processors[" + strconv.Itoa(e.Position) + "])")
	return s.String()
}

// Located returns err as the error of the processor of that name and position.
func Located(err error, name string, position int) error {
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return &Error{Processor: name, Position: position, Reason: err.Error()}
	}
	c := *e
	c.Processor, c.Position = name, position
	return &c
}

// Describe is v for an error message: JSON, cut.
func Describe(v value.Value) string {
	if s := v.Str(); len(s) > 4*maxShown {
		v = value.NewString(s[:4*maxShown])
	} else if !v.IsString() && v.Len() > maxShown {
		return "(" + v.Kind().String() + " of " + strconv.Itoa(v.Len()) + " elements)"
	}
	return Cut(string(value.AppendJSON(nil, v)))
}

// maxShown bounds the bytes of a value that a message quotes.
const maxShown = 64

// Cut shortens client text for an error message.
func Cut(s string) string { return cutTo(s, maxShown) }

func cutTo(s string, most int) string {
	if len(s) <= most {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
