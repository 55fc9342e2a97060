package engine

import (
	"fmt"
	"sort"
	"strings"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

// rewritten is a statement whose tables are the views of one query. Only names are
// replaced, in the text, at the positions that the parser reported: everything else
// stays as the client wrote it.
type rewritten struct {
	sql    string
	prefix int // bytes in front of the client's text
	st     *statement
	edits  []edit
	// schemas are the databases by the schema that stands for them.
	schemas map[string]string
}

// edit replaces the bytes [from, to) of the client's text.
type edit struct {
	from, to int
	text     string
}

// rewrite replaces every table by the view of its name in the schema that schemaOf gives.
// shadowed are columns by name that the engine sees under another one; see shadowedNames.
func (st *statement) rewrite(schemaOf map[query.TableName]string, shadowed map[string]string) (*rewritten, error) {
	r := &rewritten{st: st, schemas: make(map[string]string)}
	for name, s := range schemaOf {
		r.schemas[s] = name.Database
	}
	for _, ref := range st.tables {
		parts, ends := namePath(st.sql, ref.at, ref.parts)
		if len(parts) != ref.parts || parts[len(parts)-1] != ref.name.Name {
			return nil, errs.New(errs.Unsupported,
				"the name of table %s at position %d cannot be read; write it as a name, in double quotes if need be", ref.name, st.clientPosition(ref.at))
		}
		r.edits = append(r.edits, edit{
			from: ref.at, to: ends[len(ends)-1],
			text: quoteName(schemaOf[ref.name]) + "." + quoteName(ref.name.Name),
		})
	}
	for _, ref := range st.columns {
		if e, ok := ref.rewrite(st.sql, schemaOf); ok {
			r.edits = append(r.edits, e)
		}
		if e, ok := ref.unshadow(st.sql, shadowed); ok {
			r.edits = append(r.edits, e)
		}
	}
	sort.Slice(r.edits, func(i, k int) bool { return r.edits[i].from < r.edits[k].from })
	var b strings.Builder
	b.WriteString(st.explain)
	r.prefix = b.Len()
	done := 0
	for _, e := range r.edits {
		if e.from < done {
			return nil, errs.New(errs.Unexpected, "query: two names at position %d of the statement", st.clientPosition(e.from))
		}
		b.WriteString(st.sql[done:e.from])
		b.WriteString(e.text)
		done = e.to
	}
	b.WriteString(st.sql[done:])
	r.sql = b.String()
	return r, nil
}

// rewrite replaces the database in front of a column's table, if it is one of the
// statement's tables; else the name is a field of a column.
func (ref columnRef) rewrite(sql string, schemaOf map[query.TableName]string) (edit, bool) {
	if len(ref.path) < 3 {
		return edit{}, false
	}
	first := 0
	if len(ref.path) > 3 && strings.EqualFold(ref.path[0], catalogName) {
		first = 1
	}
	for name, s := range schemaOf {
		if !strings.EqualFold(name.Database, ref.path[first]) || !strings.EqualFold(name.Name, ref.path[first+1]) {
			continue
		}
		parts, ends := namePath(sql, ref.at, first+1)
		if len(parts) != first+1 || parts[first] != ref.path[first] {
			return edit{}, false
		}
		return edit{from: ref.at, to: ends[first], text: quoteName(s)}, true
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
	shift := 0
	for _, e := range r.edits {
		if at < e.from+shift {
			break
		}
		if at < e.from+shift+len(e.text) {
			return r.st.clientPosition(e.from), true
		}
		shift += len(e.text) - (e.to - e.from)
	}
	return r.st.clientPosition(at - shift), true
}

// clientText puts the names of databases back into a message of the engine.
func (r *rewritten) clientText(msg string) string {
	for s, database := range r.schemas {
		msg = strings.ReplaceAll(msg, s+".", database+".")
		msg = strings.ReplaceAll(msg, quoteName(s)+".", database+".")
	}
	return msg
}
