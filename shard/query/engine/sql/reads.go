package sql

// This file decides which columns a reference to a table may read. A name of a column counts for the references that it
// can mean: those in the FROM of the query in which it occurs, or of a query around that one. A name behind the name of
// a table counts only for references that are called so. All other texts of the statement, such as the columns of
// USING, count for every reference.

// named has what a SELECT and the queries within it name.
type named struct {
	// plain are the names with nothing before them.
	plain map[string]bool
	// behind are pairs of a name and the name before it.
	behind map[[2]string]bool
	// stars are the names before a star. all means that a star has none, or an unknown one.
	stars map[string]bool
	all   bool
	// from are the names of the tables and queries in its FROM.
	from []string
}

func newNamed(leaves []Node) *named {
	n := &named{plain: map[string]bool{}, behind: map[[2]string]bool{}, stars: map[string]bool{}}
	for _, leaf := range leaves {
		name := Text(leaf, "alias")
		if name == "" {
			name = Text(leaf, "table_name")
		}
		n.from = append(n.from, LowerASCII(name))
	}
	return n
}

// columnName records the parts of a column's name for the queries around it.
func (s *studier) columnName(n Node) {
	list, _ := n["column_names"].([]any)
	before := ""
	for i, v := range list {
		part, _ := v.(string)
		part = LowerASCII(part)
		s.st.Words[part]++
		if s.loose {
			s.st.elsewhere[part] = true
		}
		for _, q := range s.around {
			if i == 0 {
				q.plain[part] = true
			} else {
				q.behind[[2]string{before, part}] = true
			}
		}
		before = part
	}
}

// star records a star for the queries around it.
func (s *studier) star(n Node) {
	s.st.Whole = true
	of := LowerASCII(Text(n, "relation_name"))
	known := false
	for _, q := range s.around {
		for _, name := range q.from {
			known = known || name == of
		}
	}
	switch {
	case s.loose || len(s.around) == 0:
		s.st.allColumns = true
	case of == "": // it means the FROM of its own query
		s.around[len(s.around)-1].all = true
	default:
		for _, q := range s.around {
			q.stars[of], q.all = true, q.all || !known
		}
	}
}

// Reads reports whether a reference may read a column.
func (st *Statement) Reads(ref *TableRef, column string) bool {
	column = LowerASCII(column)
	if ref.named == nil {
		return st.Whole || st.Words[column] > 0
	}
	called := LowerASCII(ref.CalledAs())
	name := LowerASCII(ref.Name.Name)
	q := ref.named
	return st.ReadsAll(ref) || st.elsewhere[column] || q.plain[column] ||
		q.behind[[2]string{called, column}] || q.behind[[2]string{name, column}]
}

// ReadsAll reports whether a reference may read every column.
func (st *Statement) ReadsAll(ref *TableRef) bool {
	if ref.named == nil {
		return st.Whole
	}
	return st.allColumns || ref.named.all || ref.named.stars[LowerASCII(ref.CalledAs())] ||
		ref.named.stars[LowerASCII(ref.Name.Name)]
}
