package operation

import (
	"strconv"
	"strings"
)

// The notes that operations keep.
const (
	NoteUndo     = "undo"     // why what was begun is undone
	NoteBase     = "base"     // the last shard before shard-add made one
	NoteCount    = "count"    // shards or partitions that are asked for
	NoteMode     = "mode"     // of a drain: modeRestart
	NotePromoted = "promoted" // when the second voter of a shard of one replica came, Unix ns
	NoteCopying  = "copying"  // when the copy began, Unix ns
	NoteLeaving  = "leaving"  // a damaged replica was told to leave its group
	NoteLeft     = "left"     // a damaged replica is gone from its node
	NoteAdd      = "add"      // nodes that get a replica, with commas
	NoteDrop     = "drop"     // nodes that lose theirs
	NoteWas      = "was"      // replicas that were wanted before
	NoteEpoch    = "epoch"    // of the table before it was placed
	NoteOld      = "old"      // shards that took the table's writes before
	NoteSealed   = "sealed"   // those that know that they no longer do
	NoteRows     = "rows"     // the table takes its stored rows along although it keeps them all
	NoteCopy     = "copy"     // id of the copy of a table that takes its rows along
	NoteCopies   = "copies"   // how often one was begun
	NoteCopiers  = "copiers"  // nodes that were asked to copy, by shard
	NoteWhy      = "why"      // the last one was given up
	NoteTold     = "told"     // shards that know that they have all of the copy
	NoteMoves    = "moves"    // parts begun so far
	NoteFailed   = "failed"   // parts that did not come to their end
	NoteName     = "name"     // of a node or a table that may be gone at the end
	NoteInitial  = "initial"  // the shards of a new cluster
	// The shard that is given up. It is not the record's own, since another operation may wait
	// for that shard in vain, and would keep this one from being begun.
	NoteShard = "shard"
	NoteLoss  = "loss" // what is given up, in words

	ModeRestart = "restart"
)

// List splits a note with commas.
func List(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// IDList joins ids with commas.
func IDList(ids []uint32) string {
	var out []string
	for _, id := range ids {
		out = append(out, strconv.FormatUint(uint64(id), 10))
	}
	return strings.Join(out, ",")
}
