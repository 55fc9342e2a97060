package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
)

const testNow = 1_700_000_000_000_000_000

// request returns a request for a plain write to table t.
func request(change ...func(*Request)) *Request {
	q := &Request{
		Database: "public", Table: "t", AutoCreate: true,
		Now: func() time.Time { return time.Unix(0, testNow) },
	}
	for _, f := range change {
		f(q)
	}
	return q
}

func skipErrors(q *Request)   { q.SkipError = true }
func ignoreErrors(q *Request) { q.IgnoreErrors = true }
func wholeRecords(q *Request) { q.WholeRecords = true }

func levels(n int) func(*Request)       { return func(q *Request) { q.MaxNestedLevels = n } }
func maxColumnsOf(n int) func(*Request) { return func(q *Request) { q.MaxColumns = n } }

func hints(h map[string]string) func(*Request) { return func(q *Request) { q.Hints = h } }

func timeIndex(text string) func(*Request) {
	return func(q *Request) {
		ti, err := ParseTimeIndex(text)
		if err != nil {
			panic(err)
		}
		q.TimeIndex = ti
	}
}

// tables implements Catalog.
type tables map[string]*schema.Table

func (c tables) Table(_, name string) (*schema.Table, bool) {
	t, ok := c[name]
	return t, ok
}

// having returns a change that creates table t with these columns, written like "svc_timestamp
// TimestampNanosecond ti, n Float64, k String tag, m Int64 not null, d Int64 default 7".
func having(columns string, options ...string) func(*Request) {
	t := &schema.Table{ID: 1, Database: "public", Name: "t", Options: map[string]string{}}
	for i, def := range strings.Split(columns, ", ") {
		words := strings.Fields(def)
		c := schema.Column{ID: uint32(i + 1), Name: words[0], Semantic: schema.Field}
		for _, typ := range schema.Types() {
			if typ.String() == words[1] {
				c.Type = typ
			}
		}
		switch rest := strings.Join(words[2:], " "); {
		case rest == "ti":
			c.Semantic, c.NotNull = schema.Timestamp, true
		case rest == "tag":
			c.Semantic = schema.Tag
		case rest == "not null":
			c.NotNull = true
		case strings.HasPrefix(rest, "default "):
			text := strings.TrimPrefix(rest, "default ")
			c.Default = &text
		}
		t.Columns = append(t.Columns, c)
	}
	for i := 0; i < len(options); i += 2 {
		t.Options[options[i]] = options[i+1]
	}
	t.Index()
	return func(q *Request) { q.Catalog = tables{"t": t} }
}

// onlySlow forces every record through the exact path. smallTrie makes the fast path forget keys after every
// other record.
func onlySlow(r *identity)  { r.onlySlow = true }
func smallTrie(r *identity) { r.maxNodes = 3 }

// run passes the lines to a runner and returns a dump of the result.
func run(q *Request, lines []string, how ...func(*identity)) (string, error) {
	runner, err := NewIdentity(q)
	if err != nil {
		return "", err
	}
	defer runner.Release()
	for _, f := range how {
		f(runner.(*identity))
	}
	for _, line := range lines {
		if err := runner.ScanLine([]byte(line)); err != nil {
			return "", err
		}
	}
	out, err := runner.Finish()
	if err != nil {
		return "", err
	}
	return dump(out), nil
}

var bigInteger = regexp.MustCompile(`[0-9]{19}`)

// both runs the lines on both paths, checks that the results agree, and returns the result.
func both(t *testing.T, change []func(*Request), lines []string) (string, error) {
	t.Helper()
	fast, errFast := run(request(change...), lines)
	slow, errSlow := run(request(change...), lines, onlySlow)
	if fast != slow || fmt.Sprint(errFast) != fmt.Sprint(errSlow) {
		t.Errorf("paths differ for %.300q\nfast:\n%s%v\nexact:\n%s%v", lines, fast, errFast, slow, errSlow)
	}
	small, errSmall := run(request(change...), lines, smallTrie)
	if fast != small || fmt.Sprint(errFast) != fmt.Sprint(errSmall) {
		t.Errorf("the trie's size matters for %.300q\nlarge:\n%s%v\nsmall:\n%s%v", lines, fast, errFast, small, errSmall)
	}
	// Values cannot hold integers beyond int64, while text in columns keeps their digits.
	big := bigInteger.MatchString(strings.Join(lines, ""))
	if q := request(change...); !big {
		values, errValues := runThrough("", q, lines, nil)
		if fast != values || fmt.Sprint(errFast) != fmt.Sprint(errValues) {
			t.Errorf("by values it differs for %.300q\ntext:\n%s%v\nvalues:\n%s%v", lines, fast, errFast, values, errValues)
		}
	}
	if errFast != nil && errs.CodeOf(errFast) != errs.InvalidArguments {
		if syntax := (*jsonscan.Error)(nil); !errors.As(errFast, &syntax) {
			t.Errorf("error %v has code %d", errFast, errs.CodeOf(errFast))
		}
	}
	return fast, errFast
}

// dump formats an output: a line for each table, and a line for each column with all its values.
func dump(out *Output) string {
	var s strings.Builder
	for _, t := range out.Tables {
		fmt.Fprintf(&s, "%s", t.Table)
		for _, name := range []string{"ttl", "merge_mode", "skip_wal", "physical_table"} {
			if v, ok := t.Options[name]; ok {
				fmt.Fprintf(&s, " %s=%s", name, v)
			}
		}
		if t.Options["append_mode"] != "true" {
			fmt.Fprintf(&s, " append_mode=%s", t.Options["append_mode"])
		}
		if t.NoCreate {
			s.WriteString(" nocreate")
		}
		if t.Discard {
			s.WriteString(" discard")
		}
		s.WriteByte('\n')
		cols := slices.Clone(t.Rows.Cols())
		if t.Existing != nil { // the order of an existing table's columns does not matter
			slices.SortStableFunc(cols[1:], func(a, b *column.Col) int { return strings.Compare(a.Name, b.Name) })
		}
		for _, c := range cols {
			fmt.Fprintf(&s, "  %s %s", c.Name, c.Type)
			if c.Semantic != schema.Field {
				fmt.Fprintf(&s, " %s", c.Semantic)
			}
			s.WriteByte(':')
			for row := range t.Rows.Rows() {
				s.WriteByte(' ')
				s.WriteString(cellText(c, row))
			}
			s.WriteByte('\n')
		}
		for _, text := range t.AsideWarnings() {
			s.WriteString("  " + text + "\n")
		}
	}
	if out.Skipped > 0 {
		fmt.Fprintf(&s, "skipped %d of %d: %s\n", out.Skipped, out.Records, reasonText(out.Reasons))
	}
	return s.String()
}

func cellText(c *column.Col, row int) string {
	switch {
	case c.IsNull(row):
		return "-"
	case c.Type.IsBytes():
		return strconv.Quote(string(c.Bytes(row)))
	case c.Type.IsFloat():
		return string(jsonscan.AppendFloat(nil, c.Float(row)))
	case c.Type.IsTimestamp() && c.Int(row) >= testNow && c.Int(row) < testNow+1000000:
		return fmt.Sprintf("now+%d", c.Int(row)-testNow)
	}
	if c.Type == schema.Uint64 {
		return strconv.FormatUint(uint64(c.Int(row)), 10)
	}
	return strconv.FormatInt(c.Int(row), 10)
}

// elements splits a JSON array into its elements, and any other text into lines.
func elements(text string) []string {
	if !strings.HasPrefix(text, "[") {
		return strings.Split(strings.TrimSpace(text), "\n")
	}
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		panic(err)
	}
	var out []string
	for _, r := range raw {
		out = append(out, string(r))
	}
	return out
}

// trimLines removes the indentation of an expected dump.
func trimLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// reasonText formats reasons on one line.
func reasonText(reasons []Reason) string {
	var parts []string
	for _, r := range reasons {
		parts = append(parts, fmt.Sprintf("record %d: %s", r.Index, r.Error))
	}
	return strings.Join(parts, " | ")
}
