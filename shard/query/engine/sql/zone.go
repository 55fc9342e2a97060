package sql

import (
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/zone"
	"cordwood/shard/query"
)

// DuckDB's sessions are in UTC. The time zone of a request applies to texts of times that contain
// no zone. If such a text is compared with times, it is converted to UTC in the statement before
// anything else reads it. Texts with an offset are converted too: DuckDB respects the offset only
// for nanoseconds and ignores it for other times. So are texts with blanks at their ends: DuckDB
// refuses a date with blanks behind it, unless no row reaches the comparison.

var timeText = lazyregexp.New(
	`^\s*(\d{4}-\d{1,2}-\d{1,2}(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?)\s*([+-]\d{2}(?::?\d{2})?)?\s*$`)

// timeLayouts are the formats of texts of times, without the offset.
var timeLayouts = []string{
	"2006-1-2 15:04:05.999999999", "2006-1-2T15:04:05.999999999", "2006-1-2 15:04",
	"2006-1-2T15:04", "2006-1-2",
}

// moments records the texts of times among operands.
func (w *walker) moments(call bool, operands ...any) {
	use := momentUse{call: call}
	for _, v := range operands {
		n, _ := v.(Node)
		at, known := Position(n)
		if s, ok := TextLiteral(n); ok && known && timeText.MatchString(s) {
			use.texts = append(use.texts, momentLiteral{at, s})
		} else {
			use.others = append(use.others, v)
		}
	}
	if len(use.texts) > 0 {
		w.st.moments = append(w.st.moments, use)
	}
}

// castMoment records a cast to a time.
func (w *walker) castMoment(n Node) {
	kind, _ := n["cast_type"].(Node)
	child, _ := n["child"].(Node)
	at, known := Position(child)
	if s, ok := TextLiteral(child); ok && known && strings.HasPrefix(Text(kind, "id"), "TIMESTAMP") &&
		timeText.MatchString(s) {
		w.st.moments = append(w.st.moments, momentUse{texts: []momentLiteral{{at, s}}, certain: true})
	}
}

// InZone returns the request with the texts of times in st converted to UTC, and the edits that converted them.
func (st *Statement) InZone(req *query.Request) (_ *query.Request, edits []Edit, err error) {
	loc, err := zone.Load(req.Timezone)
	if err != nil {
		return nil, nil, err
	}
	typed := &momentTypes{st: st, tables: req.Tables}
	for _, use := range st.moments {
		is := surelyTime
		if !use.certain {
			if is = typed.any(use.others); is == maybeTime && use.call {
				is = notTime
			}
		}
		for _, l := range use.texts {
			utc, offset, ok := inUTC(l.text, loc)
			asItIs := loc == time.UTC && !offset && l.text == strings.TrimSpace(l.text)
			switch {
			case is == notTime || !ok || asItIs:
			case is == maybeTime && (offset || loc == time.UTC):
			case is == maybeTime:
				return nil, nil, errs.New(errs.InvalidArguments,
					"with the time zone %s it must be known whether '%s' is a time or a text, but the statement does not show it: "+
						"write '%s'::TIMESTAMP, or give it an offset (position %d)",
					req.Timezone, l.text, l.text, st.clientPosition(l.at))
			default:
				edits = append(edits, Edit{From: l.at, To: SkipLiteral(st.SQL, l.at), Text: QuoteText(utc)})
			}
		}
	}
	if len(edits) == 0 {
		return req, nil, nil
	}
	out := *req
	out.Timezone, out.SQL = "", st.Explain+applyEdits(st.SQL, edits)
	return &out, edits, nil
}

// MadeOf returns a statement whose text was created from the client's text by edits, with positions
// in the client's text.
func (st *Statement) MadeOf(client *Statement, edits []Edit) *Statement {
	out := *st
	out.client, out.offset = client.client, client.offset
	out.amended = slices.Concat(client.amended, [][]Edit{edits}, st.amended)
	return &out
}

// utcLayout is the format of texts of times that inUTC returns.
const utcLayout = "2006-01-02 15:04:05.999999999"

// inUTC converts the text of a time to UTC. If the text has no offset, the time is in the given
// zone.
func inUTC(s string, loc *time.Location) (utc string, offset, ok bool) {
	m := timeText.FindStringSubmatch(s)
	if m == nil {
		return "", false, false
	}
	if offset = m[2] != ""; offset {
		var err error
		if loc, err = zone.Load(m[2]); err != nil {
			return "", true, false // DuckDB reports the error in the text
		}
	}
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, m[1], loc); err == nil {
			return t.UTC().Format(utcLayout), offset, true
		}
	}
	return "", offset, false
}

// momentTypes determines which expressions are times, as far as names and functions show this.
type momentTypes struct {
	st     *Statement
	tables []query.Table
	depth  int
}

type certainty uint8

const (
	notTime certainty = iota
	maybeTime
	surelyTime
)

// ofTimes are functions that return a time if an argument is one. textual are functions that never
// return a time.
var (
	ofTimes = setOf("date_trunc datetrunc time_bucket min max first last any_value arbitrary arg_min arg_max " +
		"coalesce greatest least lag lead + - ifnull nullif first_value last_value date_add date_sub")
	alwaysTimes = setOf("now current_timestamp get_current_timestamp transaction_timestamp current_localtimestamp " +
		"localtimestamp to_timestamp make_timestamp make_timestamp_ns make_timestamp_ms strptime try_strptime")
	textual = setOf("lower upper substr substring concat || strftime replace trim ltrim rtrim left right regexp_extract " +
		"regexp_replace split_part ->> json_extract_string to_json format printf concat_ws string_agg reverse md5 " +
		"sha256 chr hex")
)

func setOf(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// any returns yes if one of the expressions is a time, and no if none is.
func (t *momentTypes) any(list []any) certainty {
	is := notTime
	for _, v := range list {
		is = max(is, t.is(v))
	}
	return is
}

func (t *momentTypes) is(v any) certainty {
	if t.depth++; t.depth > MaxExpressionDepth {
		return maybeTime
	}
	defer func() { t.depth-- }()
	n, _ := v.(Node)
	switch Text(n, "class") {
	case "COLUMN_REF":
		path, _ := n["column_names"].([]any)
		if len(path) == 0 {
			return maybeTime
		}
		name, _ := path[len(path)-1].(string)
		return t.column(name)
	case "CONSTANT":
		return notTime
	case "LAMBDA":
		return notTime // an arrow
	case "CAST":
		kind, _ := n["cast_type"].(Node)
		if strings.HasPrefix(Text(kind, "id"), "TIMESTAMP") {
			return surelyTime
		}
		return notTime
	case "FUNCTION", "WINDOW":
		name := LowerASCII(Text(n, "function_name"))
		switch {
		case alwaysTimes[name]:
			return surelyTime
		case name == "epoch_ms": // returns a number for a time, and a time for a number
			return surelyTime - t.any(Args(n))
		case textual[name]:
			return notTime
		case ofTimes[name]:
			return t.any(Args(n))
		}
	}
	return maybeTime
}

// column checks everything with the name: columns of tables, and aliases of expressions.
func (t *momentTypes) column(name string) certainty {
	is, found := notTime, false
	for i := range t.tables {
		for _, c := range t.tables[i].Schema.Columns {
			if !strings.EqualFold(c.Name, name) {
				continue
			}
			of := notTime
			if c.Type.IsTimestamp() {
				of = surelyTime
			}
			if found && is != of {
				return maybeTime
			}
			is, found = of, true
		}
	}
	for _, n := range t.st.aliased {
		if !strings.EqualFold(Text(n, "alias"), name) {
			continue
		}
		if path, _ := n["column_names"].([]any); len(path) > 0 {
			if last, _ := path[len(path)-1].(string); strings.EqualFold(last, name) {
				continue // skip the alias itself
			}
		}
		of := t.is(n)
		if found && is != of {
			return maybeTime
		}
		is, found = of, true
	}
	if !found {
		return maybeTime
	}
	return is
}
