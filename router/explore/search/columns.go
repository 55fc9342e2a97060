package search

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/router/explore/roles"
)

// Columns has the columns of a table for searches. It is immutable.
type Columns struct {
	table *schema.Table
	roles roles.Columns
	// texts has the columns in which words without a field are searched.
	texts []*schema.Column
	// among is set if the table is one of several that are searched together.
	among bool
}

// TableField is the field that contains the name of the table if several tables are searched together.
const TableField = "_table"

// NewColumns returns the columns of t. chosen has the columns that a user chose. Without a message column, the table's
// option message_column is used or, if that is not set, the column that package roles finds. If there is no such
// column, words are searched in every text column.
func NewColumns(t *schema.Table, chosen roles.Chosen) *Columns {
	if message := t.Column(chosen.Message); message == nil || message.Type != schema.String {
		chosen.Message = t.Options[schema.OptionMessageColumn]
	}
	c := &Columns{table: t, roles: roles.Of(t, chosen)}
	if c.roles.Message != nil {
		c.texts = append([]*schema.Column{c.roles.Message}, c.roles.Errors...)
		return c
	}
	for i := range t.Columns {
		if t.Columns[i].Type == schema.String {
			c.texts = append(c.texts, &t.Columns[i])
		}
	}
	return c
}

// Among returns the columns of a table that is searched together with other tables, so it has the field
// TableField.
func (c *Columns) Among() *Columns {
	other := *c
	other.among = true
	return &other
}

// Roles returns the columns by their roles.
func (c *Columns) Roles() *roles.Columns { return &c.roles }

// Value returns the SQL expression for the value of a field, and its type. It resolves the name as a search does.
// If the table has no such field, found is false. It returns an error if the name may mean several columns.
func (c *Columns) Value(name string) (expr string, typ schema.Type, found bool, err error) {
	t, found, err := c.find(name, span{0, 0})
	return t.expr, t.typ, found, err
}

// Words reports whether a search in a field matches words instead of comparing the whole value.
func (c *Columns) Words(name string) bool {
	t, found, err := c.find(name, span{0, 0})
	return found && err == nil && t.words
}

// target is the meaning of a field name in a table.
type target struct {
	// expr is the SQL expression for its value, of type typ. Values inside a JSON column have type String.
	expr string
	typ  schema.Type
	// words is set if a value is searched as a word instead of being compared.
	words bool
	// levels is set if the field is the level.
	levels *roles.Levels
}

func (c *Columns) of(col *schema.Column) target {
	t := target{expr: Ident(col.Name), typ: col.Type}
	if col.Type == schema.JSON {
		return target{expr: "CAST(" + t.expr + " AS VARCHAR)", typ: schema.String, words: true}
	}
	switch c.roles.RoleOf(col) {
	case roles.Message, roles.Error:
		t.words = true
	case roles.Level:
		if col.Name == c.roles.Level.Column.Name && c.roles.Level.Scheme != roles.Status {
			t.levels = c.roles.Level
		}
	}
	if col.Index != nil && col.Index.Kind == schema.FulltextIndex {
		t.words = true
	}
	return t
}

// find returns the meaning of name, and whether it has one. It returns an error if the name may mean several
// columns.
func (c *Columns) find(name string, at span) (t target, found bool, err error) {
	if c.among && name == TableField { // even if one of the tables has a column with this name
		return target{expr: schema.QuoteLiteral(c.table.Name), typ: schema.String}, true, nil
	}
	if col := c.table.Column(name); col != nil {
		return c.of(col), true, nil
	}
	if strings.EqualFold(name, "level") && c.roles.Level != nil {
		l := c.roles.Level
		return target{expr: Ident(l.Column.Name), typ: l.Column.Type, levels: l}, true, nil
	}
	if t, found := c.inside(name); found {
		return t, true, nil
	}
	ends := c.similar(func(column string) bool { return strings.EqualFold(column, name) })
	if len(ends) == 0 {
		ends = c.similar(func(column string) bool {
			cut := len(column) - len(name)
			return cut > 0 && column[cut-1] == '.' && strings.EqualFold(column[cut:], name)
		})
	}
	switch len(ends) {
	case 0:
		return target{}, false, nil
	case 1:
		return c.of(ends[0]), true, nil
	}
	var names []string
	for _, col := range ends {
		names = append(names, col.Name)
	}
	shown := names[:min(len(names), 5)]
	return target{}, true, report(errs.ColumnNotFound, at, names,
		fmt.Sprintf("%s is ambiguous (%s): write the whole name", excerpt(name), strings.Join(shown, ", ")))
}

// inside returns the meaning of name as a path into a JSON column. A key may have dots itself, so the value is that of
// the first way to divide the path into keys for which there is one: the way with the most keys comes first.
func (c *Columns) inside(name string) (target, bool) {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] != '.' {
			continue
		}
		col := c.table.Column(name[:i])
		if col == nil || col.Type != schema.JSON {
			continue
		}
		keys := strings.Split(name[i+1:], ".")
		if slices.Contains(keys, "") {
			return target{}, false
		}
		var exprs []string
		for _, way := range divisions(keys) {
			exprs = append(exprs, member(Ident(col.Name), way))
		}
		expr := "(" + exprs[0] + ")"
		if len(exprs) > 1 {
			expr = "coalesce(" + strings.Join(exprs, ", ") + ")"
		}
		return target{expr: expr, typ: schema.String}, true
	}
	return target{}, false
}

func (c *Columns) similar(fits func(column string) bool) []*schema.Column {
	var out []*schema.Column
	for i := range c.table.Columns {
		if fits(c.table.Columns[i].Name) {
			out = append(out, &c.table.Columns[i])
		}
	}
	return out
}

// unknown returns the error for a field that no table has.
func unknown(name string, at span, tables []*Columns) error {
	var names []string
	for _, c := range tables {
		for _, col := range c.table.Columns {
			names = append(names, col.Name)
		}
	}
	near := nearest.Names(name, names, 3)
	msg := fmt.Sprintf("there is no field %s", excerpt(name))
	if len(near) > 0 {
		return report(errs.ColumnNotFound, at, near, msg+"; did you mean "+strings.Join(near, " or ")+"? "+asTextSentence)
	}
	return report(errs.ColumnNotFound, at, near, msg+asText)
}

// reserved has the words that need quotes as column names.
var reserved = strings.Fields(`all analyse analyze and any array as asc asymmetric both case cast check collate column
constraint create default deferrable desc describe distinct do else end except false fetch for foreign from group having
in initially intersect into lambda lateral leading limit not null offset on only or order pivot placing primary qualify
references returning select show some summarize symmetric table then to trailing true union unique unpivot using
variadic when where window with interval time timestamp date values row exists current_date current_time
current_timestamp localtime localtimestamp user`)

// Ident returns the name of a column for SQL, in double quotes if it needs them.
func Ident(name string) string {
	bare := name != "" && (name[0] < '0' || name[0] > '9') &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	if bare && !slices.Contains(reserved, name) {
		return name
	}
	return schema.QuoteIdent(name)
}
