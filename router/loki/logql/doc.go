// Package logql reads LogQL, the query language of Loki. Parse returns the tree of a query, and String writes a tree
// as a query again. The language is described at https://grafana.com/docs/loki/latest/query/.
//
// For a part of LogQL that cordwood does not support, the error has the code Unsupported and contains the name and the
// position. For other invalid text it has the code InvalidSyntax. The size, the depth and the number of stages of a
// query are bounded. The package runs nothing and has no state.
package logql
