package processor

import (
	"slices"
	"strings"

	"cordwood/router/vrl/value"
)

const (
	variablePrefix = "svc_"
	variableCount  = 8
)

// variableFields are the fields that say how a record is stored. They are not data, so select keeps them.
var variableFields = [variableCount]string{
	"svc_auto_create_table", "svc_append_mode", "svc_merge_mode", "svc_physical_table",
	"svc_skip_wal", "svc_table_suffix", "svc_table_ttl", "svc_ttl",
}

// compileSelect: select removes fields.
//
//	type: include (default) keeps only the listed fields, under their new names if the
//	  list gives any; exclude removes them, and new names mean nothing
//
// Listed fields that a record lacks are ignored. The variables svc_… stay with include if
// they are not listed.
func compileSelect(o *Options) Apply {
	list := o.FieldList().List
	if o.Choice("type", "include", "exclude") == "exclude" {
		return excludeFields(list)
	}
	outs := make([]string, len(list))
	for i, f := range list {
		outs[i] = f.Out.Text
	}
	outputs, places := newCaptures(o, outs)
	var unlisted []string
	for _, name := range variableFields {
		if !slices.ContainsFunc(list, func(f Field) bool { return f.In.Text == name || f.Out.Text == name }) {
			unlisted = append(unlisted, name)
		}
	}
	return func(rec *Record) error {
		o := rec.Value.MutObject()
		if o == nil {
			return rec.errNotMap()
		}
		var few [fewCaptures]value.Value
		values := outputs.values(few[:])
		for i := range list {
			if v, ok := rec.Get(list[i].In); ok {
				values[places[i]] = v.Share()
			}
		}
		var kept [variableCount]value.Field
		variables := appendVariables(kept[:0], o, unlisted)
		o.Reset()
		for i, v := range values {
			if v.IsDefined() {
				o.Add(outputs.names[i].Text, v)
			}
		}
		if len(variables) > 0 {
			for _, f := range variables {
				o.Add(f.Key, f.Value)
			}
			o.Sort()
		}
		return nil
	}
}

// excludeFields removes the listed fields.
func excludeFields(list []Field) Apply {
	return func(rec *Record) error {
		if rec.Value.Object() == nil {
			return rec.errNotMap()
		}
		for i := range list {
			if _, ok := rec.Get(list[i].In); ok {
				if err := rec.spendOnSet(); err != nil {
					return err
				}
				rec.Delete(list[i].In)
			}
		}
		return nil
	}
}

// appendVariables appends the fields of o that are variables with one of the names.
func appendVariables(dst []value.Field, o *value.Fields, names []string) []value.Field {
	at, _ := o.Find(variablePrefix)
	fields := o.Peek()[at:]
	for i := 0; i < len(fields) && strings.HasPrefix(fields[i].Key, variablePrefix); i++ {
		if slices.Contains(names, fields[i].Key) {
			f := fields[i]
			f.Value.Share()
			dst = append(dst, f)
		}
	}
	return dst
}
