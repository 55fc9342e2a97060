package processor

import (
	"strings"

	"cordwood/router/vrl/value"
)

// compileFilter: filter drops records whose field has one of several texts.
//
//	targets: list of the texts; empty ones are ignored
//	match_op: in (default) drops records with one of the texts, not_in drops records with another text
//	case_insensitive: whether upper and lower case are treated alike, default true
//	mode: simple, the only one
//
// It is enough if one of the listed fields meets the condition. A field that is missing or null does not. A field
// that is not a string is an error.
func compileFilter(o *Options) Apply {
	fields := o.FieldList()
	o.Choice("mode", "simple")
	dropIf := o.Choice("match_op", "in", "not_in") == "in"
	fold := o.Bool("case_insensitive", true)
	targets := filterTargets(o, fold)
	list := fields.List
	return func(rec *Record) error {
		if rec.Value.Object() == nil {
			return rec.errNotMap()
		}
		for i := range list {
			v, ok := rec.Get(list[i].In)
			if !ok || v.IsNull() {
				continue
			}
			if !v.IsString() {
				return rec.WrongType(list[i].In.Text, v, "a string")
			}
			if err := rec.spendOn(v); err != nil {
				return err
			}
			if targets.has(rec, v.Str()) == dropIf {
				rec.Value = value.Value{}
				return nil
			}
		}
		return nil
	}
}

// textSet is a set of texts, in lower case if case is ignored.
type textSet struct {
	texts map[string]struct{}
	fold  bool
}

func filterTargets(o *Options, fold bool) textSet {
	set := textSet{map[string]struct{}{}, fold}
	n := o.Get("targets")
	if n == nil {
		o.Fault(`"targets" is required: the list of the texts to look for`)
		return set
	}
	faults := n.Faults()
	for _, s := range n.Strings() {
		if b, changed := lower(nil, s); fold && changed {
			s = string(b)
		}
		if s != "" {
			set.texts[strings.Clone(s)] = struct{}{}
		}
	}
	if len(set.texts) == 0 && n.Faults() == faults {
		n.Fault("targets contains only empty texts")
	}
	return set
}

func (t *textSet) has(rec *Record, s string) bool {
	if t.fold {
		if b, changed := lower(rec.Scratch[:0], s); changed {
			rec.Scratch = b
			_, ok := t.texts[string(b)]
			return ok
		}
	}
	_, ok := t.texts[s]
	return ok
}
