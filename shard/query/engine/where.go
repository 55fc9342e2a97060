package engine

import (
	"cmp"
	"slices"
	"strings"
)

// This file reads from a checked syntax tree what planning needs to know of each
// reference to a table: which columns the statement names, and what the rows that the
// reference contributes must meet.

// condition is an expression that is true for every row that a reference contributes to
// the answer. alias is the name by which the reference's columns are qualified; alone
// tells that names without one can only be the reference's.
type condition struct {
	expr  node
	alias string
	alone bool
}

// study fills in what the walker does not: it runs after it, on the same tree.
func (st *statement) study(tree any) {
	s := studier{st: st}
	st.words = make(map[string]int)
	s.visit(tree)
	names := make(map[string]bool)
	for _, ref := range st.tables {
		names[lowerASCII(ref.name.Name)] = true
	}
	for _, c := range st.columns {
		// A table's name as a value is its whole row.
		if len(c.path) == 1 && (names[lowerASCII(c.path[0])] || s.aliases[lowerASCII(c.path[0])]) {
			st.whole = true
		}
	}
}

type studier struct {
	st      *statement
	aliases map[string]bool
}

// visit collects words and visits every query in v.
func (s *studier) visit(v any) {
	switch v := v.(type) {
	case string:
		s.st.words[lowerASCII(v)]++
	case []any:
		for _, child := range v {
			s.visit(child)
		}
	case node:
		s.visitNode(v)
	}
}

func (s *studier) visitNode(n node) {
	switch text(n, "type") {
	case "SELECT_NODE":
		s.query(n)
	case "SHOW_REF", "PIVOT":
		s.st.whole = true
	case "JOIN":
		if text(n, "ref_type") == "NATURAL" {
			s.st.whole = true
		}
	}
	switch text(n, "class") {
	case "STAR", "POSITIONAL_REFERENCE":
		s.st.whole = true
	}
	if n["column_name_alias"] != nil {
		s.st.whole = true
	}
	if alias := text(n, "alias"); alias != "" && text(n, "class") == "" { // a table's, not an expression's
		if s.aliases == nil {
			s.aliases = make(map[string]bool)
		}
		s.aliases[lowerASCII(alias)] = true
	}
	for _, child := range n {
		s.visit(child)
	}
}

// query hands the conditions of a SELECT to the tables that it reads.
func (s *studier) query(n node) {
	from, _ := n["from_table"].(node)
	if from == nil {
		return
	}
	leaves := leaves(from, nil)
	s.tellApart(leaves)
	var conds []node
	if where, ok := n["where_clause"].(node); ok && n["sample"] == nil {
		conds = append(conds, where)
	}
	s.hand(from, conds, len(leaves) == 1)
}

// leaves returns the table references of a tree of joins.
func leaves(n node, out []node) []node {
	if text(n, "type") != "JOIN" {
		return append(out, n)
	}
	for _, side := range []string{"left", "right"} {
		if child, ok := n[side].(node); ok {
			out = leaves(child, out)
		}
	}
	return out
}

// tellApart marks references to tables of one name in several databases that stand
// beside each other, which would have one alias.
func (s *studier) tellApart(leaves []node) {
	for _, a := range leaves {
		i, ok := s.st.reference(a)
		if !ok || s.st.tables[i].aliased {
			continue
		}
		for _, b := range leaves {
			k, ok := s.st.reference(b)
			if !ok || s.st.tables[k].aliased {
				continue
			}
			x, y := s.st.tables[i].name, s.st.tables[k].name
			if strings.EqualFold(x.Name, y.Name) && !strings.EqualFold(x.Database, y.Database) {
				// The same table elsewhere in the statement gets the same alias, so that a
				// qualified column means the same everywhere.
				for r := range s.st.tables {
					if t := &s.st.tables[r]; !t.aliased && t.name == x {
						t.ambiguous = true
					}
				}
			}
		}
	}
}

// reference returns which of st.tables a node of its tree is.
func (st *statement) reference(n node) (int, bool) {
	if text(n, "type") != "BASE_TABLE" {
		return 0, false
	}
	at, ok := position(n)
	if !ok {
		return 0, false
	}
	return slices.BinarySearchFunc(st.tables, at, func(ref tableRef, at int) int { return cmp.Compare(ref.at, at) })
}

// hand gives the conditions to the tables below n. All of conds are true for the rows
// of n that count.
func (s *studier) hand(n node, conds []node, alone bool) {
	if len(conds) == 0 {
		return
	}
	if text(n, "type") == "JOIN" {
		left, _ := n["left"].(node)
		right, _ := n["right"].(node)
		if left == nil || right == nil {
			return
		}
		both := conds
		if on, ok := n["condition"].(node); ok {
			both = append(conds[:len(conds):len(conds)], on)
		}
		kind, ref := text(n, "join_type"), text(n, "ref_type")
		switch {
		case ref == "POSITIONAL" || ref == "DEPENDENT":
		case ref == "ASOF":
			// Which row of the right side is nearest depends on all of them.
			if kind == "INNER" || kind == "LEFT" || kind == "" {
				s.hand(left, conds, alone)
			}
		case kind == "INNER" || kind == "" && ref == "CROSS":
			s.hand(left, both, alone)
			s.hand(right, both, alone)
		case kind == "LEFT" || kind == "SEMI" || kind == "ANTI":
			s.hand(left, conds, alone)
		case kind == "RIGHT":
			s.hand(right, conds, alone)
		}
		return
	}
	i, ok := s.st.reference(n)
	if !ok || n["sample"] != nil || n["column_name_alias"] != nil {
		return
	}
	ref := &s.st.tables[i]
	alias := text(n, "alias")
	if alias == "" {
		alias = ref.name.Name
	}
	for _, c := range conds {
		ref.conds = append(ref.conds, condition{expr: c, alias: alias, alone: alone})
	}
}
