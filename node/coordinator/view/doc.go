// Package view describes the cluster to people: its nodes, shards and operations, its problems, and what to do about
// them. It only reads snapshots.
package view
