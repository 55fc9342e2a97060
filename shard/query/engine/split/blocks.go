package split

import (
	"fmt"
	"strings"

	"cordwood/shard/query/engine/sql"
)

// PartialsOf returns the name of the table that the last step of a statement with several blocks reads for a block.
func PartialsOf(block int) string { return fmt.Sprintf("%s_%d", Partials, block) }

// InPlace returns, as text, the query that takes the place of a block: its last step over the table of the block.
func InPlace(final string, block int) string {
	if final == "" {
		return "SELECT * FROM " + PartialsOf(block)
	}
	return strings.ReplaceAll(final, Partials, PartialsOf(block))
}

// outerFunctions are the functions that a statement may call around its blocks, besides finalFunctions and aggregates.
var outerFunctions = wordSet(`row_number rank dense_rank rank_dense percent_rank cume_dist ntile lag lead first_value
	last_value nth_value coalesce ifnull count_star`)

// outerNodes are the kinds of queries, of FROM and of their clauses that a statement may have around its blocks.
var outerNodes = wordSet(`SELECT_NODE SET_OPERATION_NODE CTE_NODE BASE_TABLE SUBQUERY JOIN EMPTY EXPRESSION_LIST
	ORDER_MODIFIER LIMIT_MODIFIER DISTINCT_MODIFIER ORDER_DEFAULT ASCENDING DESCENDING`)

// CheckOuter reports, as an error, why the engine must not run a statement around its blocks as it is written: its
// answer could depend on the moment or on the node, or a part of it is not known here.
func CheckOuter(root sql.Node) error {
	var err error
	sql.EachNode(root, func(n sql.Node) bool {
		if err == nil {
			err = checkOuterNode(n)
		}
		return err == nil
	})
	return err
}

func checkOuterNode(n sql.Node) error {
	kind := sql.Text(n, "type")
	switch class := sql.Text(n, "class"); class {
	case "FUNCTION", "WINDOW":
		name := sql.LowerASCII(sql.Text(n, "function_name"))
		if !finalFunctions[name] && !aggregateNames[name] && !outerFunctions[name] {
			return notSplit(causeFunction, "the function %s is applied to the result of a query that could be split; "+
				"call it within that query, for the values of its rows", name)
		}
	case "COLUMN_REF":
		if name, bare := bareColumn(n); bare && isMoment(name) {
			return notSplit(causeNames, "%s is used outside of the queries that can be split; use it within them", name)
		}
	case "LAMBDA", "COLLATE", "POSITIONAL_REFERENCE":
		return notSplit(causeFunction, "%s", unknownClass(class))
	case "":
		known := kind == "" || outerNodes[kind] || strings.HasSuffix(kind, "_TYPE_INFO")
		if !known || n["sample"] != nil || sql.Text(n, "ref_type") == "POSITIONAL" {
			return notSplit(causeForm, "its FROM or a clause has a form that is not known here, such as a sample; "+
				"use plain queries, joins and conditions")
		}
	}
	return nil
}

// isMoment reports whether a name stands for the present time.
func isMoment(name string) bool {
	name = sql.LowerASCII(name)
	return strings.HasPrefix(name, "current_") || strings.HasPrefix(name, "local") || name == "today"
}
