// Package logquery converts a structured query to a SELECT. A structured query is the JSON that /v1/logs accepts: a
// table, a time range, conditions, columns and a limit. The SELECT is run like any SQL text, with the same rights
// and limits.
//
// All functions are pure and safe for concurrent use.
package logquery

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/words"
)

// MaxBytes limits the length of a query.
const MaxBytes = 1 << 20

// The bounds of a query: how deep conditions and expressions may be nested, and how many there may be.
const (
	maxDepth = 64
	maxNodes = 10_000
)

// defaultFetch is the default number of rows of a query.
const defaultFetch = 1000

// Lookup finds a table. It returns an error if there is none.
type Lookup func(database, table string) (*schema.Table, error)

// query is the form of a query.
type query struct {
	Table *struct {
		Catalog string `json:"catalog_name"`
		Schema  string `json:"schema_name"`
		Table   string `json:"table_name"`
	} `json:"table"`
	TimeFilter *timeFilter `json:"time_filter"`
	Limit      struct {
		Skip  uint64  `json:"skip"`
		Fetch *uint64 `json:"fetch"`
	} `json:"limit"`
	Columns []string          `json:"columns"`
	Filters json.RawMessage   `json:"filters"`
	Context json.RawMessage   `json:"context"`
	Exprs   []json.RawMessage `json:"exprs"`
}

// Keys are the keys of a query.
var Keys = []string{"table", "time_filter", "limit", "columns", "filters", "context", "exprs"}

// IsQuery reports whether a JSON object is a query, by its beginning: the first key is one of Keys.
func IsQuery(beginning []byte) bool {
	rest := bytes.TrimLeft(beginning, " \t\r\n")
	if len(rest) == 0 || rest[0] != '{' {
		return false
	}
	if rest = bytes.TrimLeft(rest[1:], " \t\r\n"); len(rest) == 0 || rest[0] != '"' {
		return false
	}
	name, _, found := bytes.Cut(rest[1:], []byte{'"'})
	return found && slices.Contains(Keys, string(name))
}

// Compile returns the SELECT for a query. database is the database of a table without one. now is the end of a time
// range without one. Errors have code InvalidArguments, ColumnNotFound, Unsupported for parts of the language that
// are not supported, or come from lookup.
func Compile(text []byte, database string, lookup Lookup, now time.Time) (string, error) {
	var q query
	if err := decode(text, &q); err != nil {
		return "", invalid("the query cannot be read: %v", err)
	}
	if q.Table == nil || q.Table.Table == "" {
		return "", invalid(`the query names no table: write "table":{"table_name":"NAME"}`)
	}
	if c := q.Table.Catalog; c != "" && c != "svc" {
		return "", invalid("table.catalog_name is %q: leave it out", clip(c))
	}
	if q.Table.Schema != "" {
		database = q.Table.Schema
	}
	table, err := lookup(database, q.Table.Table)
	if err != nil {
		return "", err
	}
	if c := strings.TrimSpace(string(q.Context)); c != "" && c != "null" && c != `"None"` {
		return "", unsupported(`context is %s: only "None" is taken; ask for the lines around a row by its time`, clip(c))
	}
	c := &compiler{table: table}
	return c.compile(&q, database, now)
}

// decode decodes a JSON value of a known type. Nothing may follow the value.
func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field == "table" {
			return errors.New(`table must be an object, as {"table_name":"apache"}`)
		}
		return errors.New(words.JSONFault(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after its end")
	}
	return nil
}

func invalid(format string, args ...any) error {
	return errs.New(errs.InvalidArguments, format, args...)
}

func unsupported(format string, args ...any) error {
	return errs.New(errs.Unsupported, format, args...)
}

// clip shortens a client's text for a message.
func clip(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// compiler creates the text of one query.
type compiler struct {
	table *schema.Table
	nodes int
}

// enter counts a condition or an expression.
func (c *compiler) enter(depth int) error {
	if c.nodes++; c.nodes > maxNodes {
		return invalid("the query has more than %d conditions and expressions", maxNodes)
	}
	if depth > maxDepth {
		return invalid("the query is nested deeper than %d levels", maxDepth)
	}
	return nil
}

func (c *compiler) compile(q *query, database string, now time.Time) (string, error) {
	items, groups, aggregated, err := c.selected(q)
	if err != nil {
		return "", err
	}
	conditions, err := c.timeCondition(q.TimeFilter, now)
	if err != nil {
		return "", err
	}
	if text := strings.TrimSpace(string(q.Filters)); text != "" && text != "null" {
		filter, err := c.filter([]byte(text), 1)
		if err != nil {
			return "", err
		}
		conditions = append(conditions, filter)
	}
	var out strings.Builder
	out.WriteString("SELECT " + strings.Join(items, ", "))
	out.WriteString(" FROM " + schema.QuoteIdent(database) + "." + schema.QuoteIdent(c.table.Name))
	if len(conditions) > 0 {
		out.WriteString(" WHERE " + strings.Join(conditions, " AND "))
	}
	switch {
	case !aggregated:
		out.WriteString(" ORDER BY " + schema.QuoteIdent(c.table.TimeIndex().Name) + " DESC")
	case len(groups) > 0:
		list := strings.Join(groups, ", ")
		out.WriteString(" GROUP BY " + list + " ORDER BY " + list)
	}
	fetch := uint64(defaultFetch)
	if q.Limit.Fetch != nil {
		fetch = *q.Limit.Fetch
	}
	const most = 1<<63 - 1
	if fetch > most || q.Limit.Skip > most {
		return "", invalid("limit.skip and limit.fetch may be at most %d", uint64(most))
	}
	out.WriteString(" LIMIT " + strconv.FormatUint(fetch, 10))
	if q.Limit.Skip > 0 {
		out.WriteString(" OFFSET " + strconv.FormatUint(q.Limit.Skip, 10))
	}
	return out.String(), nil
}

// selected returns the select list of the query: its columns and expressions. If one of them is an aggregate, the
// others are the groups.
func (c *compiler) selected(q *query) (items, groups []string, aggregated bool, err error) {
	for _, name := range q.Columns {
		column, err := c.column(name)
		if err != nil {
			return nil, nil, false, err
		}
		items, groups = append(items, column), append(groups, column)
	}
	for _, text := range q.Exprs {
		e, err := c.expr(text, 1)
		if err != nil {
			return nil, nil, false, err
		}
		if e.aggregate {
			aggregated = true
		} else {
			groups = append(groups, e.sql)
		}
		for _, by := range e.by {
			items, groups = append(items, by), append(groups, by)
		}
		items = append(items, e.named())
	}
	if len(items) == 0 {
		items = []string{"*"}
	}
	return items, groups, aggregated, nil
}

// column returns the name of a column of the table, in quotes.
func (c *compiler) column(name string) (string, error) {
	if c.table.Column(name) == nil {
		return "", errs.New(errs.ColumnNotFound, "table %q has no column %q", c.table.Name, clip(name))
	}
	return schema.QuoteIdent(name), nil
}
