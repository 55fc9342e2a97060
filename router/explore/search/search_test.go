package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/roles"
)

// tables has the tables of the cases.
var tables = map[string]*schema.Table{
	"app": table("app",
		"ts TimestampMillisecond time", "level String", "message String fulltext", "host String", "service String",
		"status Int64", "took Float64", "ok Boolean", "at TimestampNanosecond", "extra Json", "bin Binary",
		"error.message String", "kubernetes.namespace String", "a.id String", "b.id String", "path String", "Order String",
	),
	"bare": table("bare", "ts TimestampSecond time", "one String", "two String", "n Int8",
		"f Float32"),
	"otel": table("otel", "ts TimestampNanosecond time", "severity_text String", "severity_number Int32", "body String"),
	"web":  table("web", "ts TimestampNanosecond time", "status UInt16", "msg String"),
	"pino": table("pino", "ts TimestampNanosecond time", "level Int64", "msg String"),
}

func table(name string, columns ...string) *schema.Table {
	t := &schema.Table{Database: "public", Name: name}
	for i, text := range columns {
		parts := strings.Fields(text)
		c := schema.Column{ID: uint32(i + 1), Name: parts[0], Semantic: schema.Field}
		for _, typ := range schema.Types() {
			if typ.String() == parts[1] {
				c.Type = typ
			}
		}
		switch {
		case len(parts) == 2:
		case parts[2] == "time":
			c.Semantic = schema.Timestamp
		case parts[2] == "fulltext":
			c.Index = &schema.Index{Kind: schema.FulltextIndex}
		}
		t.Columns = append(t.Columns, c)
	}
	return t.Index()
}

// A testCase is a text and the expected SQL, or the expected error at a part of the text.
type testCase struct {
	Text   string      `json:"text"`
	Table  string      `json:"table,omitempty"` // app by default
	Among  []string    `json:"among,omitempty"`
	SQL    string      `json:"sql,omitempty"`
	Error  string      `json:"error,omitempty"` // a part of the message
	At     *[2]int     `json:"at,omitempty"`    // offset and length of the fault, in bytes
	Near   []string    `json:"near,omitempty"`
	Tokens [][2]string `json:"tokens,omitempty"` // kind and text
}

func cases(t testing.TB) []testCase {
	text, err := os.ReadFile("cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []testCase
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCases runs the cases with the parser and the compiler. The page's parser is tested with the same cases.
func TestCases(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.Text, func(t *testing.T) {
			q, sql, err := compileCase(&c)
			if c.Error != "" {
				checkError(t, &c, err)
				return
			}
			if err != nil || sql != c.SQL {
				t.Fatalf("%q is\n%s, %v\nwant\n%s", c.Text, sql, err, c.SQL)
			}
			if c.Tokens != nil {
				if diff := cmp.Diff(c.Tokens, tokensOf(q)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func compileCase(c *testCase) (*Query, string, error) {
	q, err := Parse(c.Text)
	if err != nil {
		return nil, "", err
	}
	name := c.Table
	if name == "" {
		name = "app"
	}
	var among []*Columns
	for _, other := range c.Among {
		among = append(among, NewColumns(tables[other], roles.Chosen{}))
	}
	sql, err := q.Condition(NewColumns(tables[name], roles.Chosen{}), among...)
	return q, sql, err
}

func checkError(t *testing.T, c *testCase, err error) {
	t.Helper()
	e := (*Error)(nil)
	if !errors.As(err, &e) || !strings.Contains(err.Error(), c.Error) {
		t.Fatalf("the error of %q is %v, want %q in it", c.Text, err, c.Error)
	}
	if code := errs.CodeOf(err); code != errs.InvalidSyntax && code != errs.ColumnNotFound {
		t.Errorf("code %d", code)
	}
	if got := [2]int{e.Offset, e.Length}; c.At != nil && got != *c.At {
		t.Errorf("%q is wrong at %v, want %v", c.Text, got, *c.At)
	}
	if diff := cmp.Diff(c.Near, e.Nearest); c.Near != nil && diff != "" {
		t.Error(diff)
	}
}

func tokensOf(q *Query) [][2]string {
	var out [][2]string
	for _, tok := range q.Tokens {
		out = append(out, [2]string{string(tok.Kind), q.Text[tok.Offset : tok.Offset+tok.Length]})
	}
	return out
}

// TestBounds tests the limits of a text.
func TestBounds(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{strings.Repeat("a", MaxBytes+1), "at most 16384"},
		{strings.Repeat("a ", MaxTerms+1), "more than 200 terms"},
		{"host:(" + strings.Repeat("a OR ", MaxTerms) + "a)", "more than 200 terms"},
		{strings.Repeat("(", MaxDepth+1) + "a" + strings.Repeat(")", MaxDepth+1), "more than 20 deep"},
		{"a\x00b", "NUL"},
		{"a\xffb", "UTF-8"},
	} {
		if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q…: %v, want %q", c.text, err, c.want)
		}
	}
	for _, text := range []string{
		strings.Repeat("a ", MaxTerms), strings.Repeat("(", MaxDepth) + "a" + strings.Repeat(")", MaxDepth),
		strings.Repeat("a", MaxBytes),
	} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%.20q…: %v", text, err)
		}
	}
}

// TestLongWords checks that a word or phrase that is too long for the engine is refused with its place.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("a", 1025)
	for text, refused := range map[string]bool{
		"x " + long:               true,
		`x "b ` + long + `"`:      true,
		"x " + long + "*":         true,
		"x message:" + long:       true,
		"x " + long[:1024]:        false,
		"host:" + long:            false, // it is compared
		`"` + long[:1022] + ` b"`: false,
	} {
		q, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.Condition(NewColumns(tables["app"], roles.Chosen{}))
		e := (*Error)(nil)
		if errors.As(err, &e) != refused || refused && (e.Offset < 2 || !strings.Contains(err.Error(), "at most 1024")) {
			t.Errorf("%.20q…: %v", text, err)
		}
	}
}

// TestManyColumns checks that the SQL for a short text in a table with many columns is limited.
func TestManyColumns(t *testing.T) {
	for _, c := range []struct {
		columns int
		text    string
		refused bool
	}{
		{1000, "*:a", false},
		{1000, "-c1:a b", false},
		{1001, "*:a", true},
		{1001, "b", true},
		{4000, "c1:a", false},
		{1000, strings.Repeat("*:a ", MaxTerms), true},
	} {
		wide := &schema.Table{Name: "wide"}
		for i := range c.columns {
			wide.Columns = append(wide.Columns, schema.Column{ID: uint32(i + 1), Name: fmt.Sprint("c", i), Type: schema.String})
		}
		q, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		sql, err := q.Condition(NewColumns(wide.Index(), roles.Chosen{}))
		if (err != nil) != c.refused || len(sql) > 2*maxSQL {
			t.Errorf("%.20q in %d columns: %d bytes, %v", c.text, c.columns, len(sql), err)
		}
	}
}

// FuzzParse parses any text: the tokens are consecutive parts of it, errors are inside it, and the negation of a
// search compiles if the search does.
func FuzzParse(f *testing.F) {
	for _, c := range cases(f) {
		f.Add(c.Text)
	}
	columns := NewColumns(tables["app"], roles.Chosen{})
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		if e := (*Error)(nil); errors.As(err, &e) && (e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > len(text)) {
			t.Fatalf("the fault is at %d, %d bytes, of %d", e.Offset, e.Length, len(text))
		}
		if err != nil {
			return
		}
		end := 0
		for _, tok := range q.Tokens {
			if tok.Offset < end || tok.Length <= 0 || tok.Offset+tok.Length > len(text) {
				t.Fatalf("token %+v after byte %d of %d", tok, end, len(text))
			}
			end = tok.Offset + tok.Length
		}
		_, err = q.Condition(columns)
		opposite := &Query{Text: q.Text, root: not{q.root}}
		if _, negated := opposite.Condition(columns); (err == nil) != (negated == nil) {
			t.Fatalf("the search: %v; its negation: %v", err, negated)
		}
	})
}

// TestWithout checks that Without removes the required conditions on a field, and no other conditions.
func TestWithout(t *testing.T) {
	columns := NewColumns(tables["app"], roles.Chosen{})
	for _, c := range []struct{ text, field, want string }{
		{"host:a status:5", "host", "status = 5"},
		{"-host:a status:5", "host", "status = 5"},
		{"host:a", "host", "TRUE"},
		{"host:a OR status:5", "host", "(host = 'a' OR status = 5)"},
		{"(host:a OR host:b) status:5", "host", "(host = 'a' OR host = 'b') AND status = 5"},
		{"namespace:x status:5", "kubernetes.namespace", "status = 5"},
		{"level:error status:5", "level", "status = 5"},
		{"*:a status:5", "status", columnsOf(t, "*:a", columns)},
	} {
		q, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := q.Without(columns, c.field).Condition(columns); err != nil || got != c.want {
			t.Errorf("%s without %s is %s, %v, want %s", c.text, c.field, got, err, c.want)
		}
	}
}

func columnsOf(t *testing.T, text string, columns *Columns) string {
	t.Helper()
	q, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	sql, err := q.Condition(columns)
	if err != nil {
		t.Fatal(err)
	}
	return sql
}

// TestMessageColumn checks that words are searched in the column in the table's option, unless the caller gives another
// column.
func TestMessageColumn(t *testing.T) {
	table := &schema.Table{Database: "public", Name: "app", Columns: []schema.Column{
		{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
		{Name: "message", Type: schema.String},
		{Name: "note", Type: schema.String},
		{Name: "n", Type: schema.Int64},
	}}
	for _, tt := range []struct{ option, caller, want string }{
		{"", "", "message"},
		{"note", "", "note"},
		{"note", "message", "message"},
		{"gone", "", "message"}, // for example from a backup of another program
		{"n", "", "message"},
	} {
		table.Options = map[string]string{schema.OptionMessageColumn: tt.option}
		columns := NewColumns(table.Index(), roles.Chosen{Message: tt.caller})
		q, err := Parse("beta")
		if err != nil {
			t.Fatal(err)
		}
		sql, err := q.Condition(columns)
		if got := columns.Roles().Message; err != nil || got == nil || got.Name != tt.want ||
			strings.Contains(sql, "note") != (tt.want == "note") {
			t.Errorf("option %q, caller %q: column %v, %s, %v", tt.option, tt.caller, got, sql, err)
		}
	}
}

// TestTableField checks that, if several tables are searched, the name of each is a field.
func TestTableField(t *testing.T) {
	q, err := Parse("_table:app")
	if err != nil {
		t.Fatal(err)
	}
	if sql, err := q.Condition(NewColumns(tables["bare"], roles.Chosen{}).Among()); err != nil || sql != "'bare' = 'app'" {
		t.Error(sql, err)
	}
	if _, err := q.Condition(NewColumns(tables["bare"], roles.Chosen{})); err == nil {
		t.Error("TableField exists although only one table is searched")
	}
}
