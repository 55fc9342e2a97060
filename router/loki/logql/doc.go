// Package logql reads LogQL, the query language of Loki. Parse returns the tree of a query, and String writes a tree
// as a query again. The language is described at https://grafana.com/docs/loki/latest/query/.
//
// What cordwood does not support is refused by name and position (code Unsupported), and what is not LogQL with the
// code InvalidSyntax. The size, the depth and the number of stages of a query are bounded. The package runs nothing
// and has no state.
package logql
