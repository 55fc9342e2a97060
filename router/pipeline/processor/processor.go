// Package processor has the processors of pipelines. Each processor is one step in the list of a pipeline and
// changes the fields of one record.
//
// Each processor is in a file. Its Compile function reads and checks the options once, and returns an Apply that
// runs for each record. To add a processor, write a file and its test, and add it to kinds.go.
//
// A processor does not know tables, types of columns or other processors. It does not decide what happens to a
// record on which it fails.
//
// An Apply is immutable and is run by many goroutines concurrently. State is in the Record, which belongs to one
// goroutine.
package processor

import "cordwood/router/pipeline/document"

// Apply changes a record. Its error, usually from Record.Fail, concerns the record.
type Apply func(rec *Record) error

// Env has resources for processors. The zero value has none.
type Env struct {
	// GeoIPDatabase is the path of a database with locations of addresses; "" if there is none, and the processor
	// geoip is refused.
	GeoIPDatabase string
}

// Options has the options of one processor in a pipeline, and other data for its Compile.
type Options struct {
	*document.Map

	Env Env

	kind  string
	names *Names
	list  *List
}

// Name returns a field name known at compile time.
func (o *Options) Name(text string) Name { return o.names.Name(text) }

// TimeField is a field in which a processor stores a time.
type TimeField struct {
	Name string
	// Unit is the number of units in a second, for example 1000 for milliseconds.
	Unit int64
	// IgnoreMissing is set if records may lack the field.
	IgnoreMissing bool
}

// Step is a compiled processor of a pipeline.
type Step struct {
	Name  string
	Apply Apply
	// Line is its line in the document, from 1.
	Line int
}

// List is the compiled processors of a pipeline.
type List struct {
	Steps []Step
	// Times are the fields that date and epoch processors set, in order.
	Times []TimeField
	// Texts has the fields that are certainly texts after all processors, and the kind of the processor that set each.
	Texts map[string]string
}

// DeclareTimes declares that the processor sets the fields to times with unit units per second. A pipeline without
// a transform list chooses its time index from these fields.
func (o *Options) DeclareTimes(fs Fields, unit int64) {
	for _, f := range fs.List {
		o.list.Times = append(o.list.Times, TimeField{f.Out.Text, unit, fs.IgnoreMissing})
	}
}

// DeclareTexts declares that the processor sets the fields only to texts.
func (o *Options) DeclareTexts(names ...string) {
	if o.list.Texts == nil {
		o.list.Texts = map[string]string{}
	}
	for _, name := range names {
		o.list.Texts[name] = o.kind
	}
}
