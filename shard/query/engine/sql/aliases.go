package sql

import (
	"strings"

	"cordwood/proto/errs"
)

// maxAliasCopies limits how often expressions are copied because their aliases are used.
const maxAliasCopies = 10_000

// aliases limits the growth of a SELECT whose expressions use the aliases of others. DuckDB
// replaces each alias by a copy of its expression, so that x + x AS y, y + y AS z … doubles with
// each.
func aliases(query Node) error {
	sizes := make(map[string]int) // by alias: the number of copies for one use of it
	copies := 0
	list, _ := query["select_list"].([]any)
	for _, v := range list {
		item, ok := v.(Node)
		if !ok {
			continue
		}
		of := aliasCopies(item, sizes)
		if copies += of; copies > maxAliasCopies {
			return errAliases
		}
		if alias := strings.ToLower(Text(item, "alias")); alias != "" {
			sizes[alias] = max(sizes[alias], 1+of)
		}
	}
	if len(sizes) == 0 {
		return nil
	}
	for key, v := range query {
		if key == "select_list" || key == "cte_map" {
			continue
		}
		if copies += aliasCopies(v, sizes); copies > maxAliasCopies {
			return errAliases
		}
	}
	return nil
}

var errAliases = errs.New(errs.Unsupported,
	"the statement uses aliases in expressions whose aliases are used again, which makes more than %d copies; "+
		"compute the expressions in a subquery in FROM", maxAliasCopies)

// aliasCopies adds up the sizes of the aliases that are used in v. It stops shortly after the
// limit.
func aliasCopies(v any, sizes map[string]int) int {
	copies := 0
	switch v := v.(type) {
	case []any:
		for _, child := range v {
			copies = min(copies+aliasCopies(child, sizes), maxAliasCopies+1)
		}
	case Node:
		if path, ok := v["column_names"].([]any); ok && len(path) > 0 {
			name, _ := path[len(path)-1].(string)
			copies = sizes[strings.ToLower(name)]
		}
		for _, child := range v {
			copies = min(copies+aliasCopies(child, sizes), maxAliasCopies+1)
		}
	}
	return copies
}
