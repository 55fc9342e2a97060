package translate

import (
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/explore/roles"
	"cordwood/router/loki/logql"
)

// The names of labels that are not columns.
const (
	TableLabel   = "table"
	ServiceLabel = "service_name"
	LevelLabel   = "detected_level"
)

// ServiceNames are the labels that can provide service_name. The first one with a value wins.
var ServiceNames = []string{
	"service_name", "service", "app", "application", "name", "app_kubernetes_io_name", "container", "container_name",
	"component", "workload", "job",
}

// attributeColumns are the JSON columns whose members are structured metadata.
var attributeColumns = []string{"structured_metadata", "log_attributes", "resource_attributes", "scope_attributes"}

// Column is a column with its label name.
type Column struct {
	Label string
	Def   *schema.Column
}

// Table describes how a table is read as streams of entries.
type Table struct {
	Def *schema.Table
	// Labels are the columns that are labels: tags, and those of the option loki_labels. Metadata are the columns that
	// are structured metadata.
	Labels, Metadata []Column
	// Attributes are the JSON columns whose members are structured metadata.
	Attributes []*schema.Column
	// Message is the column with the line. If it is nil, the line is the other columns as JSON.
	Message *schema.Column
	// Level is the column with the level, and Scheme the meaning of its values; nil if there is none.
	Level *roles.Levels
	// services are the labels in ServiceNames that the table has.
	services []Column
}

// NewTable returns the description of a table.
func NewTable(def *schema.Table) *Table {
	t := &Table{Def: def}
	r := roles.Of(def, roles.Chosen{Message: def.Options[schema.OptionMessageColumn]})
	t.Message = r.Message
	if r.Level != nil && r.Level.Scheme != roles.Status {
		t.Level = r.Level
	}
	used := map[string]bool{TableLabel: true, LevelLabel: true}
	add := func(to []Column, c *schema.Column) []Column {
		label := LabelName(c.Name)
		if label == TableLabel {
			label = TableLabel + "_"
		}
		if used[label] {
			return to
		}
		used[label] = true
		return append(to, Column{label, c})
	}
	for i := range def.Columns {
		if c := &def.Columns[i]; c.Semantic == schema.Tag {
			t.Labels = add(t.Labels, c)
		}
	}
	for _, name := range schema.LokiLabels(def.Options) {
		if c := def.Column(name); c != nil && c.Semantic == schema.Field && c != t.Message {
			t.Labels = add(t.Labels, c)
		}
	}
	for i := range def.Columns {
		c := &def.Columns[i]
		switch {
		case c.Semantic != schema.Field || c == t.Message || slices.ContainsFunc(t.Labels, isColumn(c)):
		case c.Type == schema.JSON && slices.Contains(attributeColumns, c.Name):
			t.Attributes = append(t.Attributes, c)
		case LabelName(c.Name) == ServiceLabel && c.Type == schema.String:
			// A user who writes the label means the column of this name.
			t.Labels = add(t.Labels, c)
		default:
			t.Metadata = add(t.Metadata, c)
		}
	}
	slices.SortStableFunc(t.Attributes, func(a, b *schema.Column) int {
		return slices.Index(attributeColumns, a.Name) - slices.Index(attributeColumns, b.Name)
	})
	for _, name := range ServiceNames {
		if c := find(t.Labels, name); c != nil {
			t.services = append(t.services, *c)
		}
	}
	return t
}

func isColumn(c *schema.Column) func(Column) bool { return func(l Column) bool { return l.Def == c } }

// LabelName returns the label name for a column or a key. Characters that label names cannot have become _.
func LabelName(name string) string {
	valid := func(i int, c byte) bool {
		return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && c >= '0' && c <= '9'
	}
	plain := true
	for i := range len(name) {
		plain = plain && valid(i, name[i])
	}
	if plain {
		return name
	}
	var b strings.Builder
	if c := name[0]; c >= '0' && c <= '9' {
		b.WriteByte('_')
	}
	for _, r := range name {
		if r < 0x80 && valid(1, byte(r)) {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	return b.String()
}

func find(list []Column, label string) *Column {
	for i := range list {
		if list[i].Label == label {
			return &list[i]
		}
	}
	return nil
}

// isSearched reports whether the line is a column with a fulltext index.
func (t *Table) isSearched() bool {
	return t.Message != nil && t.Message.Index != nil && t.Message.Index.Kind == schema.FulltextIndex
}

// IsLabel reports whether a name is an indexed label.
func (t *Table) IsLabel(name string) bool {
	return name == TableLabel || name == ServiceLabel || find(t.Labels, name) != nil
}

// LabelNames returns the indexed labels.
func (t *Table) LabelNames() []string {
	out := []string{TableLabel, ServiceLabel}
	for _, c := range t.Labels {
		if c.Label != ServiceLabel {
			out = append(out, c.Label)
		}
	}
	slices.Sort(out)
	return out
}

// Admits reports whether rows of the table can meet the matchers, judging by its name and columns.
func (t *Table) Admits(matchers []logql.Matcher) bool {
	for i := range matchers {
		m := &matchers[i]
		switch {
		case m.Name == TableLabel:
			if !m.Matches(t.Def.Name) {
				return false
			}
		case m.Name == ServiceLabel && len(t.services) == 0:
			if !m.Matches(t.Def.Name) {
				return false
			}
		case m.Name == ServiceLabel, m.Name == LevelLabel, m.Matches(""):
		case find(t.Labels, m.Name) == nil && find(t.Metadata, m.Name) == nil:
			return false
		}
	}
	return true
}

// From returns the name of the table in SQL.
func (t *Table) From() string {
	return schema.QuoteIdent(t.Def.Database) + "." + schema.QuoteIdent(t.Def.Name)
}

// Time returns the time index in SQL.
func (t *Table) Time() string { return schema.QuoteIdent(t.Def.TimeIndex().Name) }

// textOf returns SQL for the text of a column. Null becomes an empty text.
func textOf(c *schema.Column) string {
	return "coalesce(" + CastText(c) + ", '')"
}

// CastText returns SQL for the text of a column. Null stays null.
func CastText(c *schema.Column) string {
	if c.Type == schema.String {
		return schema.QuoteIdent(c.Name)
	}
	return "CAST(" + schema.QuoteIdent(c.Name) + " AS VARCHAR)"
}

// Needed returns the labels that are columns and from which the given indexed labels are computed.
func (t *Table) Needed(names []string) []Column {
	var out []Column
	for _, c := range t.Labels {
		ofService := slices.Contains(names, ServiceLabel) && find(t.services, c.Label) != nil
		if ofService || slices.Contains(names, c.Label) {
			out = append(out, c)
		}
	}
	return out
}

// service returns SQL for the label service_name.
func (t *Table) service() string {
	parts := make([]string, 0, len(t.services)+1)
	for _, c := range t.services {
		parts = append(parts, "nullif("+CastText(c.Def)+", '')")
	}
	if len(parts) == 0 {
		return quote(t.Def.Name)
	}
	return "coalesce(" + strings.Join(append(parts, quote(t.Def.Name)), ", ") + ")"
}

// label returns SQL for an indexed label. ok is false if the table has no such label.
func (t *Table) label(name string) (sql string, ok bool) {
	switch name {
	case TableLabel:
		return quote(t.Def.Name), true
	case ServiceLabel:
		return t.service(), true
	}
	if c := find(t.Labels, name); c != nil {
		return textOf(c.Def), true
	}
	return "", false
}

// metadata returns SQL for structured metadata. ok is false if the table cannot have this name.
func (t *Table) metadata(name string) (sql string, ok bool) {
	if name == LevelLabel {
		return t.levelSQL(), true
	}
	if c := find(t.Metadata, name); c != nil {
		return textOf(c.Def), true
	}
	if len(t.Attributes) == 0 {
		return "", false
	}
	var parts []string
	for _, c := range t.Attributes {
		for _, key := range spellings(name) {
			parts = append(parts, schema.QuoteIdent(c.Name)+"->>"+quote(key))
		}
	}
	return "coalesce(" + strings.Join(append(parts, "''"), ", ") + ")", true
}

// spellings returns the keys that LabelName may have turned into name: with dots in place of underscores.
func spellings(name string) []string {
	out := []string{name}
	if dotted := strings.ReplaceAll(name, "_", "."); dotted != name && !strings.HasPrefix(name, "_") {
		out = append(out, dotted)
		if strings.Count(name, "_") == 2 {
			i := strings.IndexByte(name, '_')
			out = append(out, strings.Replace(name, "_", ".", 1), name[:i+1]+strings.Replace(name[i+1:], "_", ".", 1))
		}
	}
	return out
}

// LineSQL returns SQL for the line.
func (t *Table) LineSQL() string {
	if t.Message != nil {
		return textOf(t.Message)
	}
	var parts []string
	for i := range t.Def.Columns {
		c := &t.Def.Columns[i]
		if c.Semantic != schema.Field {
			continue
		}
		name := schema.QuoteIdent(c.Name)
		parts = append(parts, "CASE WHEN "+name+" IS NULL THEN '' ELSE "+quote(","+JSONString(c.Name)+":")+
			" || CAST(to_json("+name+") AS VARCHAR) END")
	}
	if len(parts) == 0 {
		return "'{}'"
	}
	return "'{' || ltrim(concat(" + strings.Join(parts, ", ") + "), ',') || '}'"
}

func quote(text string) string { return schema.QuoteLiteral(text) }

// ServiceOf returns the label service_name of an entry with the given labels.
func (t *Table) ServiceOf(labels map[string]string) string {
	for _, c := range t.services {
		if v := labels[c.Label]; v != "" {
			return v
		}
	}
	return t.Def.Name
}
