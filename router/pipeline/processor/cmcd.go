package processor

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"cordwood/router/vrl/value"
)

// compileCMCD: cmcd parses the reports of media players (Common Media Client Data): pairs key=value, separated by
// commas. The value of each known key goes to <field>_<key>, or to <new name>_<key> if the field list gives a new
// name. The field itself stays. Unknown keys are ignored. Commas inside quotes separate pairs too. There are no
// options.
func compileCMCD(o *Options) Apply {
	return o.Fields().EachStringWith(func(fl Field) func(*Record, string) error {
		outputs := make([]Name, len(cmcdKeys))
		for i, k := range cmcdKeys {
			outputs[i] = o.Name(fl.Out.Text + "_" + k.name)
		}
		return func(rec *Record, s string) error {
			for rest, more := s, true; more; {
				var pair string
				pair, rest, more = strings.Cut(rest, ",")
				pair = strings.TrimSpace(pair)
				key, text, given := strings.Cut(pair, "=")
				i := cmcdKey(key)
				if i < 0 {
					continue
				}
				v, problem := cmcdValue(rec, cmcdKeys[i].kind, text, given)
				if problem != "" {
					return rec.Fail(fl.In.Text, value.NewString(pair), "the key %s %s", key, problem)
				}
				rec.Set(outputs[i], v)
			}
			return nil
		}
	})
}

// cmcdKind is the type of a key's value.
type cmcdKind uint8

const (
	cmcdBool cmcdKind = iota
	cmcdInt
	cmcdFloat
	cmcdText
	cmcdEscaped // a text with percent escapes
)

// cmcdKeys has the known keys of CTA-5004.
var cmcdKeys = []struct {
	name string
	kind cmcdKind
}{
	{"bl", cmcdInt},
	{"br", cmcdInt},
	{"bs", cmcdBool},
	{"cid", cmcdText},
	{"d", cmcdInt},
	{"dl", cmcdInt},
	{"mtp", cmcdInt},
	{"nor", cmcdEscaped},
	{"nrr", cmcdText},
	{"ot", cmcdText},
	{"pr", cmcdFloat},
	{"rtp", cmcdInt},
	{"sf", cmcdText},
	{"sid", cmcdText},
	{"st", cmcdText},
	{"su", cmcdBool},
	{"tb", cmcdInt},
	{"v", cmcdText},
}

// cmcdKey returns the number of a known key, or -1.
func cmcdKey(name string) int {
	for i := range cmcdKeys {
		if cmcdKeys[i].name == name {
			return i
		}
	}
	return -1
}

// cmcdValue parses the text after the = of a key. given is false if there is no =. If the value is valid, problem
// is "".
func cmcdValue(rec *Record, kind cmcdKind, text string, given bool) (v value.Value, problem string) {
	if !given {
		if kind == cmcdBool {
			return value.NewBool(true), ""
		}
		return v, "has no value"
	}
	switch kind {
	case cmcdBool:
		if text == "true" || text == "false" {
			return value.NewBool(text == "true"), ""
		}
		return v, "needs true or false"
	case cmcdInt:
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return value.NewInt(i), ""
		}
		return v, "needs an integer"
	case cmcdFloat:
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return value.NewFloat(f), ""
		}
		return v, "needs a number"
	case cmcdEscaped:
		b, changed := appendUnescaped(rec.Scratch[:0], text)
		if !changed {
			break
		}
		rec.Scratch = b
		if !utf8.Valid(b) {
			return v, "is not UTF-8 after decoding"
		}
		return rec.Text(b), ""
	}
	return value.NewString(text), ""
}
