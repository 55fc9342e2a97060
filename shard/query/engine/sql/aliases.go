package sql

import (
	"strings"

	"cordwood/proto/errs"
)

// maxAliasCopies bounds how often expressions are copied because their aliases are named.
const maxAliasCopies = 10_000

// aliases bounds what the engine makes of a SELECT in which expressions name the aliases of others: it puts a
// copy of the expression wherever its alias stands, so that x + x AS y, y + y AS z … doubles with each.
func aliases(query Node) error {
	sizes := make(map[string]int) // of an alias: the copies that one reference to it makes
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
	"the statement names aliases of expressions that name other aliases, which makes more than %d copies of them; "+
		"use a query in FROM", maxAliasCopies)

// aliasCopies adds up the sizes of the aliases that are named in v, up to a little more than the bound.
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
