package sql

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/errs"
)

// Rewritten is a statement whose tables are what one query may see of them. Only names
// are replaced, in the text, at the positions that the parser reported: everything
// else stays as the client wrote it.
type Rewritten struct {
	SQL    string
	Prefix int // bytes in front of the client's text
	st     *Statement
	Edits  []Edit
}

// Rewrite replaces every reference to a table by a query of its rows; sources has one
// for each of st.tables. shadowed are columns by name that the engine sees under
// another one; see shadowedNames. more are further edits.
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
		r.Edits = append(r.Edits, st.putIn(ref, ends[len(ends)-1], sources[i]))
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

// apply puts r.sql together.
func (r *Rewritten) apply() error {
	text := applyEdits(r.st.SQL, r.Edits)
	done := 0
	for _, e := range r.Edits {
		if e.From < done {
			return errs.New(errs.Unexpected, "query: two names at position %d of the statement", r.st.clientPosition(e.From))
		}
		done = e.To
	}
	r.Prefix = len(r.st.Explain)
	r.SQL = r.st.Explain + text
	return nil
}

// putIn puts source in the place of a reference, which ends at end.
func (st *Statement) putIn(ref TableRef, end int, source string) Edit {
	e := Edit{From: ref.at, To: end, Text: "(" + source + ")"}
	if !ref.aliased {
		e.Text += " AS " + QuoteName(ref.alias())
	}
	// Where only a name may stand, a query does.
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

// rewrite replaces the database and the table in front of a column, if they belong to one of the
// statement's references; otherwise the name is a field of a column.
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

// unshadow replaces the name of a column that differs only in case from an earlier
// one of its table by the name that the engine knows it under.
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
				return "", false // our quotes, in the place of backticks or around at
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

// compared reports whether what stands at a position of r.SQL is the right side of a comparison.
func (r *Rewritten) compared(at int) bool {
	if at > len(r.SQL) {
		return false
	}
	before := strings.ToLower(strings.TrimRight(r.SQL[:max(at, 0)], " \t\r\n"))
	return strings.HasSuffix(before, "like") || before != "" && strings.IndexByte("=<>~", before[len(before)-1]) >= 0
}

// WithLimit returns the text with a LIMIT behind it.
func (r *Rewritten) WithLimit(n uint64) string {
	text := strings.TrimRight(r.SQL, " \t\r\n;")
	return fmt.Sprintf("%s\nLIMIT %d", text, n)
}

// clientPosition returns the position in the client's text of a position in r.sql.
func (r *Rewritten) clientPosition(at int) (int, bool) {
	at -= r.Prefix
	if at < 0 {
		return 0, false
	}
	return r.st.clientPosition(PositionBefore(r.Edits, at)), true
}
