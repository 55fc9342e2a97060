// Package processor has the processors of pipelines: each changes the fields of one
// record, one step in the list of a pipeline.
//
// A processor is a file: its Compile function reads and checks the options that a
// pipeline gives it, once, and returns an Apply that runs for each record. To add one,
// write the file with its test beside it, and enter it in kinds.go.
//
// What a processor is not: it knows no table, no type of a column and no other
// processor, and it decides nothing about what becomes of a record that it fails on.
//
// An Apply is immutable and is run by many goroutines at once; what changes is in the
// Record, which belongs to one.
package processor

import "cordwood/router/pipeline/document"

// Apply changes a record. Its error, best made by Record.Fail, is one of the record.
type Apply func(rec *Record) error

// Env is what processors may use beside the record. Its zero value offers nothing.
type Env struct {
	// GeoIPDatabase is the path of a database of places of addresses; "": none, and
	// the processor geoip is refused.
	GeoIPDatabase string
}

// Options are the options of one processor in a pipeline, and what its Compile needs.
type Options struct {
	*document.Map

	Env Env

	kind  string
	names *Names
	list  *List
}

// Name returns the name of a field that the processor reads or writes, known when the
// pipeline is compiled.
func (o *Options) Name(text string) Name { return o.names.Name(text) }

// TimeField is a field that a processor fills with a time.
type TimeField struct {
	Name string
	// Unit is the unit in seconds^-1, as 1000 for milliseconds.
	Unit int64
	// IgnoreMissing says that records may lack the field.
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
	// Times are the fields that date and epoch processors fill, in order.
	Times []TimeField
	// Texts has the fields that are known to be texts after all processors, and the kind of the
	// processor that made each.
	Texts map[string]string
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
