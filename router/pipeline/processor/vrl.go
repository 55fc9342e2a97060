package processor

import (
	"errors"
	"strconv"

	"cordwood/router/pipeline/document"
	"cordwood/router/vrl"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// compileVRL: vrl runs a program on the record. The program's value replaces the record. It is an
// object; an array, whose elements become rows; or null, which drops the record.
//
//	source: the program
func compileVRL(o *Options) Apply {
	source, ok := o.MustString("source")
	if !ok {
		return nil
	}
	at := o.Get("source")
	if !affordable(at, 0) {
		return nil
	}
	program, _, err := vrl.Compile(source, vrl.Options{})
	if err != nil {
		at.Spend(refusedInstructions) // compiling it has taken time nevertheless
		vrlFaults(at, err)
		return nil
	}
	if !affordable(at, program.PatternBytes()/BytesPerInstruction) {
		return nil
	}
	result := program.Result()
	if !result.Has(kind.ObjectBit | kind.ArrayBit) {
		at.Fault("the program's value is %s, expected an object or an array; end it with `.`", result)
		return nil
	}
	if path, found := regexIn(result); found {
		at.Fault("the program's value has a regular expression at %s, which no column can hold; delete it with del(%[1]s)",
			path)
		return nil
	}
	if fields := result.Object(); fields != nil && result.Within(kind.ObjectBit|kind.NullBit) {
		for _, f := range fields.Known() {
			if f.Kind.Has(kind.StringBit) && f.Kind.Within(kind.StringBit|kind.NullBit|kind.UndefinedBit) {
				o.DeclareTexts(f.Name)
			}
		}
	}
	return func(rec *Record) error {
		v, err := program.RunFramed(&rec.frames, rec.Work, &rec.Value, rec.metadata())
		if err != nil {
			if rec.Quiet {
				return errQuiet
			}
			failed := rec.Fail("", value.None, "Failed to execute VRL, %s", cutTo(err.Error(), maxVRLError))
			return onLine(failed, at, err)
		}
		switch v.Kind() {
		case value.Object, value.Array, value.Null:
			rec.Value = v
			return nil
		}
		return rec.Fail("", v, "the program's value must be a map or a list of maps, found %s", article(v.Kind()))
	}
}

// maxVRLFindings limits the number of findings of a program that are shown.
const maxVRLFindings = 10

// vrlFaults notes why a program does not compile, in the format of 'cordwood vrl check', with the lines of the
// document and of the program.
func vrlFaults(at *document.Node, err error) {
	list := (*vrl.Diagnostics)(nil)
	if !errors.As(err, &list) {
		at.Fault("Failed to compile VRL, %s", err)
		return
	}
	for _, f := range list.Findings(maxVRLFindings) {
		span := document.Span{Line: f.Line, Column: f.Column, EndLine: f.EndLine, EndColumn: f.EndColumn}
		at.FaultAt(span, "Failed to compile VRL, "+f.Headline, f.Excerpt)
	}
	if more := len(list.List) - maxVRLFindings; more > 0 {
		at.Fault("%d more findings in the program", more)
	}
}

// onLine sets the line of a record's error to the line of the document on which the program failed, if that is
// known.
func onLine(failed error, at *document.Node, err error) error {
	e, why := (*Error)(nil), (*vrl.Error)(nil)
	if errors.As(failed, &e) && errors.As(err, &why) && why.Line > 0 {
		e.Line = at.Within(document.Span{Line: why.Line}).Line
	}
	return failed
}

// maxVRLError limits the length of a program's error, because it may contain the whole text of a field.
const maxVRLError = 256

// regexIn finds a place in values of kind k that may contain a regular expression. Values about which nothing is
// known do not count, because records do not contain any.
func regexIn(k kind.Kind) (path string, found bool) {
	if fields := k.Object(); fields != nil {
		for _, f := range fields.Known() {
			if path, found := regexIn(f.Kind); found {
				return "." + f.Name + path, true
			}
		}
	}
	if elems := k.Array(); elems != nil {
		for i, e := range elems.Known() {
			if path, found := regexIn(e); found {
				return "[" + strconv.Itoa(i) + "]" + path, true
			}
		}
	}
	return "", k.Has(kind.RegexBit) && k.Within(kind.RegexBit|kind.NullBit|kind.UndefinedBit)
}

// metadata returns the metadata of the record for a program, which is empty.
func (r *Record) metadata() *value.Value {
	if r.meta.Len() > 0 || r.meta.IsNull() {
		r.meta = value.NewObject(value.MakeFields(0))
	}
	return &r.meta
}
