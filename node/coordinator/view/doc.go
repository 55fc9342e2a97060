// Package view says in words for people how the cluster is: it describes nodes, shards and operations,
// finds what is wrong, and advises what to do. It only reads snapshots.
package view
