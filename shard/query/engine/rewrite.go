package engine

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/errs"
)

// rewritten is a statement whose tables are what one query may see of them. Only names
// are replaced, in the text, at the positions that the parser reported: everything
// else stays as the client wrote it.
type rewritten struct {
	sql    string
	prefix int // bytes in front of the client's text
	st     *statement
	edits  []edit
}

// rewrite replaces every reference to a table by a query of its rows; sources has one
// for each of st.tables. shadowed are columns by name that the engine sees under
// another one; see shadowedNames. more are further edits.
func (st *statement) rewrite(sources []string, shadowed map[string]string, more []edit) (*rewritten, error) {
	r := &rewritten{st: st}
	r.edits = append(append(r.edits, st.texts...), more...)
	for i, ref := range st.tables {
		parts, ends := namePath(st.sql, ref.at, ref.parts)
		if len(parts) != ref.parts || parts[len(parts)-1] != ref.name.Name {
			return nil, errs.New(errs.Unsupported,
				"the name of table %s at position %d cannot be read; write it as a name, in double quotes if need be", ref.name, st.clientPosition(ref.at))
		}
		r.edits = append(r.edits, st.putIn(ref, ends[len(ends)-1], sources[i]))
	}
	for _, ref := range st.columns {
		if e, ok := ref.rewrite(st); ok {
			r.edits = append(r.edits, e)
		}
		if e, ok := ref.unshadow(st.sql, shadowed); ok {
			r.edits = append(r.edits, e)
		}
	}
	return r, r.apply()
}

// apply puts r.sql together.
func (r *rewritten) apply() error {
	text := applyEdits(r.st.sql, r.edits)
	done := 0
	for _, e := range r.edits {
		if e.from < done {
			return errs.New(errs.Unexpected, "query: two names at position %d of the statement", r.st.clientPosition(e.from))
		}
		done = e.to
	}
	r.prefix = len(r.st.explain)
	r.sql = r.st.explain + text
	return nil
}

// putIn puts source in the place of a reference, which ends at end.
func (st *statement) putIn(ref tableRef, end int, source string) edit {
	e := edit{from: ref.at, to: end, text: "(" + source + ")"}
	if !ref.aliased {
		e.text += " AS " + quoteName(ref.alias())
	}
	// Where only a name may stand, a query does.
	from, word := wordBefore(st.sql, ref.at)
	switch word {
	case "table":
		e.from, e.text = from, "FROM "+e.text
	case "describe", "desc", "show", "summarize":
		e.text = "FROM " + e.text
	}
	return e
}

// alias is the name that the reference has in the rewritten statement if the client
// gave it none: that of the table, or, beside a table of the same name, with the
// database in front.
func (ref tableRef) alias() string {
	if ref.ambiguous {
		return ref.name.String()
	}
	return ref.name.Name
}

// calledAs is the name by which the statement qualifies the reference's columns.
func (ref tableRef) calledAs() string {
	if ref.given != "" {
		return ref.given
	}
	return ref.alias()
}

// rewrite replaces the database and the table in front of a column, if they are those
// of one of the statement's references; else the name is a field of a column.
func (ref columnRef) rewrite(st *statement) (edit, bool) {
	if len(ref.path) < 3 {
		return edit{}, false
	}
	first := 0
	if len(ref.path) > 3 && strings.EqualFold(ref.path[0], catalogName) {
		first = 1
	}
	for _, t := range st.tables {
		if t.aliased || !strings.EqualFold(t.name.Database, ref.path[first]) || !strings.EqualFold(t.name.Name, ref.path[first+1]) {
			continue
		}
		parts, ends := namePath(st.sql, ref.at, first+2)
		if len(parts) != first+2 || parts[first] != ref.path[first] {
			return edit{}, false
		}
		return edit{from: ref.at, to: ends[first+1], text: quoteName(t.alias())}, true
	}
	return edit{}, false
}

// unshadow replaces the name of a column that differs only in case from an earlier
// one of its table by the name that the engine knows it under.
func (ref columnRef) unshadow(sql string, shadowed map[string]string) (edit, bool) {
	last := len(ref.path) - 1
	name, ok := shadowed[ref.path[last]]
	if !ok {
		return edit{}, false
	}
	parts, ends := namePath(sql, ref.at, last+1)
	if len(parts) != last+1 || parts[last] != ref.path[last] {
		return edit{}, false
	}
	from := ref.at
	if last > 0 {
		from = skipSpace(sql, skipSpace(sql, ends[last-1])+1)
	}
	return edit{from: from, to: ends[last], text: quoteName(name)}, true
}

// quotedName returns the name at a position of r.sql, if the client wrote it in double quotes.
func (r *rewritten) quotedName(at int) (string, bool) {
	if at -= r.prefix; at < 0 {
		return "", false
	}
	at = positionBefore(r.edits, at)
	for _, edits := range slices.Backward(r.st.amended) {
		for _, e := range edits {
			if e.from == positionBefore(edits, at) && e.text != "(" {
				return "", false // our quotes, in the place of backticks or around at
			}
		}
		at = positionBefore(edits, at)
	}
	at += r.st.offset
	if at >= len(r.st.client) || r.st.client[at] != '"' {
		return "", false
	}
	parts, ends := namePath(r.st.client, at, 2)
	return strings.Join(parts, "."), len(ends) == 1
}

// withLimit returns the text with a LIMIT behind it.
func (r *rewritten) withLimit(n uint64) string {
	text := strings.TrimRight(r.sql, " \t\r\n;")
	return fmt.Sprintf("%s\nLIMIT %d", text, n)
}

// clientPosition returns the position in the client's text of a position in r.sql.
func (r *rewritten) clientPosition(at int) (int, bool) {
	at -= r.prefix
	if at < 0 {
		return 0, false
	}
	return r.st.clientPosition(positionBefore(r.edits, at)), true
}
