package translate

import (
	"strings"
	"unicode"

	"cordwood/proto/lazyregexp"
	"cordwood/proto/schema"
	"cordwood/router/loki/logql"
)

// literalSets matches regular expressions that are an alternation of literals.
var literalSets = lazyregexp.New(`^[A-Za-z0-9_ :/=,@-]+(?:\|[A-Za-z0-9_ :/=,@-]+)*$`)

// matchText returns the condition of a matcher on an SQL text that is never null.
func matchText(m *logql.Matcher, text string) string {
	switch m.Op {
	case "=":
		return text + " = " + quote(m.Value)
	case "!=":
		return text + " <> " + quote(m.Value)
	}
	not := ""
	if m.Op == "!~" {
		not = "NOT "
	}
	if literalSets.MatchString(m.Value) {
		return text + " " + not + "IN (" + quoteAll(strings.Split(m.Value, "|")) + ")"
	}
	return not + "regexp_full_match(" + text + ", " + quote(m.Value) + ", 's')"
}

// matchColumn returns the condition of a matcher on a column. For text columns, it compares the column itself, so that
// indexes and row group statistics can be used.
func matchColumn(m *logql.Matcher, c *schema.Column) string {
	if c.Type != schema.String {
		return matchText(m, textOf(c))
	}
	name := schema.QuoteIdent(c.Name)
	switch {
	case m.Op == "=" && m.Value == "":
		return "(" + name + " IS NULL OR " + name + " = '')"
	case m.Op == "=", m.Op == "!=" && m.Value == "":
		return name + " " + strings.Replace(m.Op, "!=", "<>", 1) + " " + quote(m.Value)
	case m.Op == "=~" && literalSets.MatchString(m.Value):
		return matchText(m, name)
	case m.Op == "=~" && !m.Matches(""):
		return "regexp_full_match(" + name + ", " + quote(m.Value) + ", 's')"
	}
	return matchText(m, textOf(c))
}

// matcher returns the condition of a matcher of a selector.
func (t *Table) matcher(m *logql.Matcher) string {
	switch m.Name {
	case TableLabel:
		if m.Matches(t.Def.Name) {
			return "TRUE"
		}
		return "FALSE"
	case ServiceLabel:
		return t.matchService(m)
	}
	if c := find(t.Labels, m.Name); c != nil {
		return matchColumn(m, c.Def)
	}
	if c := find(t.Metadata, m.Name); c != nil {
		return matchColumn(m, c.Def)
	}
	if sql, ok := t.metadata(m.Name); ok {
		return matchText(m, sql)
	}
	if m.Matches("") {
		return "TRUE"
	}
	return "FALSE"
}

// matchService returns the condition of a matcher on service_name. If only one column can have the value, it compares
// the column itself.
func (t *Table) matchService(m *logql.Matcher) string {
	switch {
	case len(t.services) == 0:
		if m.Matches(t.Def.Name) {
			return "TRUE"
		}
		return "FALSE"
	case len(t.services) == 1 && !m.Matches("") && !m.Matches(t.Def.Name):
		return matchColumn(m, t.services[0].Def)
	}
	return matchText(m, t.service())
}

// insensitive matches regular expressions that are a literal in any case.
var insensitive = lazyregexp.New(`^\(\?i\)([A-Za-z0-9_ :/=,@"'-]+)$`)

const (
	// maxSearches is the maximum number of texts of a line filter that are also searched for by the fulltext index.
	maxSearches = 16
	// maxSearchText is the maximum length of a text that is searched for by the index, in bytes.
	maxSearchText = 512
)

// wholeWords returns the part of a text whose words are whole words of each line that contains the text, or an empty
// text if there is none. The first and the last word of the text may be parts of words.
func wholeWords(text string) string {
	text = strings.TrimLeftFunc(text, inWord)
	if len(text) > maxSearchText {
		text = strings.ToValidUTF8(text[:maxSearchText], "")
	}
	text = strings.TrimRightFunc(text, inWord)
	return strings.TrimFunc(text, func(r rune) bool { return !inWord(r) })
}

// inWord reports whether r can be part of a word of a fulltext index.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// lineFilter returns the condition of a line filter. column is the line's column if the line is a column itself, in
// which null is an empty line; otherwise column is empty. indexed is true if the column has a fulltext index. Its
// filters answer for the whole words of a text, so that blocks without them are not read.
func lineFilter(f *logql.LineFilter, line, column string, indexed bool) string {
	negative := f.Op[0] == '!'
	if column != "" && !negative {
		line = column
	}
	indexed = indexed && column != "" && !negative && len(f.Texts) <= maxSearches
	var parts []string
	for i, text := range f.Texts {
		switch f.Op[1] {
		case '=':
			if text == "" {
				parts = append(parts, "TRUE")
				continue
			}
			parts = append(parts, "contains("+line+", "+quote(text)+")")
			if whole := wholeWords(text); whole != "" && indexed {
				parts[i] = "(" + parts[i] + " AND matches_term(" + line + ", " + quote(whole) + "))"
			}
		case '~':
			if text == "" {
				parts = append(parts, "TRUE")
				continue
			}
			if m := insensitive.FindStringSubmatch(text); m != nil {
				parts = append(parts, "contains(lower("+line+"), "+quote(strings.ToLower(m[1]))+")")
				continue
			}
			if f.Res[i].MatchString("") && column != "" && !negative {
				parts = append(parts, "regexp_matches(coalesce("+line+", ''), "+quote(text)+")")
				continue
			}
			parts = append(parts, "regexp_matches("+line+", "+quote(text)+")")
		case '>':
			parts = append(parts, linePattern(f.Patterns[i], line, indexed))
		}
	}
	all := "(" + strings.Join(parts, " OR ") + ")"
	if len(parts) == 1 {
		all = parts[0]
	}
	if negative || f.Op == "!=" {
		return "NOT " + all
	}
	return all
}

// linePattern returns the condition of a pattern of |> on a line.
func linePattern(p *logql.LinePattern, line string, indexed bool) string {
	loose, exact := p.Expressions()
	if loose == "" {
		return "coalesce(" + line + ", '') = ''"
	}
	out := "regexp_full_match(" + line + ", " + quote(loose) + ", 's')"
	if exact != "" {
		out += " AND regexp_extract(" + line + ", " + quote(exact) + ", 1) <> ''"
	}
	if indexed {
		for _, literal := range p.Literals[:min(len(p.Literals), maxSearches)] {
			if whole := wholeWords(literal); whole != "" {
				out += " AND matches_term(" + line + ", " + quote(whole) + ")"
			}
		}
	}
	return "(" + out + ")"
}
