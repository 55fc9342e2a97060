package sql

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"cordwood/proto/errs"
)

// Rewritten is a statement in which each table is replaced by a query of its rows. Only names are
// replaced, at the positions that the parser reported. The rest of the text stays as the client
// wrote it.
type Rewritten struct {
	SQL    string
	Prefix int // number of bytes before the client's text
	st     *Statement
	Edits  []Edit
}

// Rewrite replaces every reference to a table by a query of its rows. sources has one query for
// each of st.tables. shadowed maps names of columns to the names under which DuckDB knows them; see
// shadowedNames. more are further edits.
func (st *Statement) Rewrite(sources []string, shadowed map[string]string, more []Edit) (*Rewritten, error) {
	r := &Rewritten{st: st}
	r.Edits = append(append(r.Edits, st.texts...), more...)
	for i, ref := range st.Tables {
		parts, ends := namePath(st.SQL, ref.at, ref.parts)
		if len(parts) != ref.parts || parts[len(parts)-1] != ref.Name.Name {
			return nil, errs.New(errs.Unsupported,
				"the name of table %s at position %d cannot be read; write it as a name, in double quotes if need be", ref.Name,
				st.clientPosition(ref.at))
		}
		r.Edits = append(r.Edits, st.replaceRef(ref, ends[len(ends)-1], sources[i]))
	}
	for _, ref := range st.Columns {
		if e, ok := ref.rewrite(st); ok {
			r.Edits = append(r.Edits, e)
		}
		if e, ok := ref.unshadow(st.SQL, shadowed); ok {
			r.Edits = append(r.Edits, e)
		}
	}
	return r, r.apply()
}

// apply builds r.sql.
func (r *Rewritten) apply() error {
	// The parser repeats the operand of CASE x WHEN … for each WHEN, so the same edit may come several times.
	sort.SliceStable(r.Edits, func(i, k int) bool { return r.Edits[i].From < r.Edits[k].From })
	r.Edits = slices.Compact(r.Edits)
	text := applyEdits(r.st.SQL, r.Edits)
	done := 0
	for _, e := range r.Edits {
		if e.From < done {
			return errs.New(errs.Unexpected, "query: rewrite the statement: two names at position "+
				"%d", r.st.clientPosition(e.From))
		}
		done = e.To
	}
	r.Prefix = len(r.st.Explain)
	r.SQL = r.st.Explain + text
	return nil
}

// replaceRef replaces a reference, which ends at end, by source.
func (st *Statement) replaceRef(ref TableRef, end int, source string) Edit {
	e := Edit{From: ref.at, To: end, Text: "(" + source + ")"}
	if !ref.aliased {
		e.Text += " AS " + QuoteName(ref.alias())
	}
	// A query needs parentheses where only a name is allowed.
	from, word := wordBefore(st.SQL, ref.at)
	switch word {
	case "table":
		e.From, e.Text = from, "FROM "+e.Text
	case "describe", "desc", "show", "summarize":
		e.Text = "FROM " + e.Text
	}
	return e
}

// alias returns the name that the reference has in the rewritten statement if the client
// gave it none: the table's name, with the database in front if another table has the same name.
func (ref TableRef) alias() string {
	if ref.ambiguous {
		return ref.Name.String()
	}
	return ref.Name.Name
}

// CalledAs returns the name by which the statement qualifies the reference's columns.
func (ref TableRef) CalledAs() string {
	if ref.Given != "" {
		return ref.Given
	}
	return ref.alias()
}

// rewrite replaces the database and the table before a column if they name one of the statement's
// references. Otherwise the name is a field of a column, and stays.
func (ref columnRef) rewrite(st *Statement) (Edit, bool) {
	if len(ref.Path) < 3 {
		return Edit{}, false
	}
	first := 0
	if len(ref.Path) > 3 && strings.EqualFold(ref.Path[0], catalogName) {
		first = 1
	}
	for _, t := range st.Tables {
		if t.aliased || !strings.EqualFold(t.Name.Database, ref.Path[first]) ||
			!strings.EqualFold(t.Name.Name, ref.Path[first+1]) {
			continue
		}
		parts, ends := namePath(st.SQL, ref.at, first+2)
		if len(parts) != first+2 || parts[first] != ref.Path[first] {
			return Edit{}, false
		}
		return Edit{From: ref.at, To: ends[first+1], Text: QuoteName(t.alias())}, true
	}
	return Edit{}, false
}

// unshadow handles a column whose name differs only in case from an earlier column of its table. It
// replaces the name by the name under which DuckDB knows the column.
func (ref columnRef) unshadow(sql string, shadowed map[string]string) (Edit, bool) {
	last := len(ref.Path) - 1
	name, ok := shadowed[ref.Path[last]]
	if !ok {
		return Edit{}, false
	}
	parts, ends := namePath(sql, ref.at, last+1)
	if len(parts) != last+1 || parts[last] != ref.Path[last] {
		return Edit{}, false
	}
	from := ref.at
	if last > 0 {
		from = SkipSpace(sql, SkipSpace(sql, ends[last-1])+1)
	}
	return Edit{From: from, To: ends[last], Text: QuoteName(name)}, true
}

// quotedName returns the name at a position of r.sql, if the client wrote it in double quotes.
func (r *Rewritten) quotedName(at int) (string, bool) {
	if at -= r.Prefix; at < 0 {
		return "", false
	}
	at = PositionBefore(r.Edits, at)
	for _, edits := range slices.Backward(r.st.amended) {
		for _, e := range edits {
			if e.From == PositionBefore(edits, at) && e.Text != "(" {
				return "", false // these are our quotes, added in place of backticks or around at
			}
		}
		at = PositionBefore(edits, at)
	}
	at += r.st.offset
	if at >= len(r.st.client) || r.st.client[at] != '"' {
		return "", false
	}
	parts, ends := namePath(r.st.client, at, 2)
	return strings.Join(parts, "."), len(ends) == 1
}

// compared reports whether the text at a position of r.SQL is the right side of a comparison.
func (r *Rewritten) compared(at int) bool {
	if at > len(r.SQL) {
		return false
	}
	before := strings.ToLower(strings.TrimRight(r.SQL[:max(at, 0)], " \t\r\n"))
	return strings.HasSuffix(before, "like") || before != "" && strings.IndexByte("=<>~", before[len(before)-1]) >= 0
}

// WithLimit returns the text with a LIMIT added.
func (r *Rewritten) WithLimit(n uint64) string {
	text := strings.TrimRight(r.SQL, " \t\r\n;")
	return fmt.Sprintf("%s\nLIMIT %d", text, n)
}

// clientPosition converts a position in r.sql to the position in the client's text.
func (r *Rewritten) clientPosition(at int) (int, bool) {
	at -= r.Prefix
	if at < 0 {
		return 0, false
	}
	return r.st.clientPosition(PositionBefore(r.Edits, at)), true
}
