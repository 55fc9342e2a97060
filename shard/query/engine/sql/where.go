package sql

import (
	"cmp"
	"slices"
	"strings"
)

// This file collects from a checked syntax tree what planning needs for each reference to a table:
// the columns whose names the statement contains, and the conditions that the reference's rows must
// meet.

// study runs after the walker on the same tree, and adds what the walker does not record.
func (st *Statement) study(tree any) {
	s := studier{st: st, loose: true}
	st.Words, st.elsewhere = make(map[string]int), make(map[string]bool)
	s.visit(tree)
	names := make(map[string]bool)
	for _, ref := range st.Tables {
		names[LowerASCII(ref.Name.Name)] = true
	}
	for _, c := range st.Columns {
		// A table's name used as a value means the whole row.
		if len(c.Path) == 1 && (names[LowerASCII(c.Path[0])] || s.aliases[LowerASCII(c.Path[0])]) {
			st.Whole, st.allColumns = true, true
		}
	}
}

type studier struct {
	st      *Statement
	aliases map[string]bool
	// around are the SELECTs around the current node, the outermost first. loose means that the innermost query around it
	// is not a SELECT but a UNION or the like, whose ORDER BY names the columns of others.
	around []*named
	loose  bool
}

// visit collects words and visits every query in v.
func (s *studier) visit(v any) {
	switch v := v.(type) {
	case string:
		s.st.Words[LowerASCII(v)]++
		s.st.elsewhere[LowerASCII(v)] = true
	case []any:
		for _, child := range v {
			s.visit(child)
		}
	case Node:
		s.visitNode(v)
	}
}

func (s *studier) visitNode(n Node) {
	around, loose := s.around, s.loose
	defer func() { s.around, s.loose = around, loose }()
	switch Text(n, "type") {
	case "SELECT_NODE":
		from, _ := n["from_table"].(Node)
		s.around, s.loose = append(around[:len(around):len(around)], newNamed(leaves(from, nil))), false
		s.query(n)
	case "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE":
		s.loose = true
	case "SHOW_REF", "PIVOT":
		s.everything()
	case "JOIN":
		if Text(n, "ref_type") == "NATURAL" {
			s.everything()
		}
	}
	class := Text(n, "class")
	switch class {
	case "COLUMN_REF":
		s.columnName(n)
	case "STAR":
		s.star(n)
	case "POSITIONAL_REFERENCE":
		s.everything()
	}
	if n["column_name_alias"] != nil {
		s.everything()
	}
	alias := LowerASCII(Text(n, "alias"))
	if alias != "" && class == "" { // the alias of a table, not of an expression
		if s.aliases == nil {
			s.aliases = make(map[string]bool)
		}
		s.aliases[alias] = true
	}
	for key, child := range n {
		switch {
		case key == "column_names" && class == "COLUMN_REF":
		case key == "alias" && class != "": // it reads nothing
			s.st.Words[alias]++
		default:
			s.visit(child)
		}
	}
}

// everything records that the statement may read columns that it does not name.
func (s *studier) everything() { s.st.Whole, s.st.allColumns = true, true }

// query assigns the conditions of a SELECT to the tables that it reads.
func (s *studier) query(n Node) {
	from, _ := n["from_table"].(Node)
	if from == nil {
		return
	}
	leaves := leaves(from, nil)
	for _, leaf := range leaves {
		if i, ok := s.st.Reference(leaf); ok {
			s.st.Tables[i].named = s.around[len(s.around)-1]
		}
	}
	s.markAmbiguous(leaves)
	var conds []Node
	if where, ok := n["where_clause"].(Node); ok && n["sample"] == nil {
		conds = append(conds, where)
	}
	s.assign(from, conds, len(leaves) == 1)
}

// leaves returns the table references of a tree of joins.
func leaves(n Node, out []Node) []Node {
	if Text(n, "type") != "JOIN" {
		return append(out, n)
	}
	for _, side := range []string{"left", "right"} {
		if child, ok := n[side].(Node); ok {
			out = leaves(child, out)
		}
	}
	return out
}

// markAmbiguous marks references in one FROM to tables with the same name in several databases,
// because they would get the same alias.
func (s *studier) markAmbiguous(leaves []Node) {
	for _, a := range leaves {
		i, ok := s.st.Reference(a)
		if !ok || s.st.Tables[i].aliased {
			continue
		}
		for _, b := range leaves {
			k, ok := s.st.Reference(b)
			if !ok || s.st.Tables[k].aliased {
				continue
			}
			x, y := s.st.Tables[i].Name, s.st.Tables[k].Name
			if strings.EqualFold(x.Name, y.Name) && !strings.EqualFold(x.Database, y.Database) {
				// Other references to the same table get the same alias, so that a qualified column
				// means the same everywhere.
				for r := range s.st.Tables {
					if t := &s.st.Tables[r]; !t.aliased && t.Name == x {
						t.ambiguous = true
					}
				}
			}
		}
	}
}

// Reference returns the index in st.tables of the reference of a node.
func (st *Statement) Reference(n Node) (int, bool) {
	if Text(n, "type") != "BASE_TABLE" {
		return 0, false
	}
	at, ok := Position(n)
	if !ok {
		return 0, false
	}
	return slices.BinarySearchFunc(st.Tables, at, func(ref TableRef, at int) int { return cmp.Compare(ref.at, at) })
}

// assign assigns the conditions to the tables below n. All of conds are true for the rows of n that
// count.
func (s *studier) assign(n Node, conds []Node, alone bool) {
	if len(conds) == 0 {
		return
	}
	if Text(n, "type") == "JOIN" {
		s.assignJoin(n, conds, alone)
		return
	}
	i, ok := s.st.Reference(n)
	if !ok || n["sample"] != nil || n["column_name_alias"] != nil {
		return
	}
	ref := &s.st.Tables[i]
	alias := Text(n, "alias")
	if alias == "" {
		alias = ref.Name.Name
	}
	for _, c := range conds {
		ref.Conds = append(ref.Conds, condition{Expr: c, Alias: alias, Alone: alone})
	}
}

// assignJoin assigns the conditions to the sides of a join. A side gets them only if the join drops
// its rows that do not meet them.
func (s *studier) assignJoin(n Node, conds []Node, alone bool) {
	left, _ := n["left"].(Node)
	right, _ := n["right"].(Node)
	if left == nil || right == nil {
		return
	}
	both := conds
	if on, ok := n["condition"].(Node); ok {
		both = append(conds[:len(conds):len(conds)], on)
	}
	kind, ref := Text(n, "join_type"), Text(n, "ref_type")
	switch {
	case ref == "POSITIONAL" || ref == "DEPENDENT":
	case ref == "ASOF":
		// In an ASOF join, all conditions decide which row of the right side is nearest.
		if kind == "INNER" || kind == "LEFT" || kind == "" {
			s.assign(left, conds, alone)
		}
	case kind == "INNER" || kind == "" && ref == "CROSS":
		s.assign(left, both, alone)
		s.assign(right, both, alone)
	case kind == "LEFT" || kind == "SEMI" || kind == "ANTI":
		s.assign(left, conds, alone)
	case kind == "RIGHT":
		s.assign(right, conds, alone)
	}
}
