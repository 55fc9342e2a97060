// Package view describes the cluster in words for people: its nodes, shards and operations, what is
// wrong, and what to do. It only reads snapshots.
package view
