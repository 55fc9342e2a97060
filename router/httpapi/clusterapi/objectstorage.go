package clusterapi

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/proto/words"
)

// ObjectStorage is the object storage of a cluster, as the nodes report it that answer.
type ObjectStorage struct {
	// Locations are such as s3://bucket/prefix. If there are several, the settings of nodes differ.
	Locations []string `json:"locations" yaml:"locations"`
	// State is ok, unchecked (the check at the start of a node has not succeeded yet) or failing. Nodes are those that are
	// not ok. The problems of the cluster have the reasons.
	State string   `json:"state" yaml:"state"`
	Nodes []string `json:"nodes" yaml:"nodes"`
	// LastUploadSeconds is the time since a node stored an object; nil if none has since its start.
	LastUploadSeconds *float64 `json:"last_upload_seconds,omitempty" yaml:"last_upload_seconds,omitempty"`
	// Shards are those with a leader that reports.
	Shards []StorageLag `json:"shards" yaml:"shards"`
}

// StorageLag says for how long work of a shard for object storage has been due; 0 means that it is not.
type StorageLag struct {
	Shard uint32 `json:"shard" yaml:"shard"`
	// RowsSeconds is about the oldest rows that should be there, StateSeconds about the state of the shard, and LogSeconds
	// about entries of its log. LogSeconds is nil if the log does not go there.
	RowsSeconds  float64  `json:"rows_seconds" yaml:"rows_seconds"`
	StateSeconds float64  `json:"state_seconds" yaml:"state_seconds"`
	LogSeconds   *float64 `json:"log_seconds,omitempty" yaml:"log_seconds,omitempty"`
}

const (
	// behind is the lag from which a shard counts as behind. Shards look for work each minute.
	behind = 2 * time.Minute
	// maxBehind is the number of shards that String names.
	maxBehind = 5
)

// String describes object storage in one line.
func (o *ObjectStorage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", strings.Join(o.Locations, ", "), o.State)
	if len(o.Nodes) > 0 {
		fmt.Fprintf(&b, " on %s", strings.Join(o.Nodes, ", "))
	}
	if o.LastUploadSeconds == nil {
		b.WriteString("; nothing was stored since the nodes started")
	} else {
		fmt.Fprintf(&b, "; last upload %s ago", seconds(*o.LastUploadSeconds))
	}
	var late []string
	for i := range o.Shards {
		if text := o.Shards[i].late(); text != "" {
			late = append(late, text)
		}
	}
	switch n := len(late); {
	case n > 0:
		b.WriteString("; behind: " + strings.Join(late[:min(n, maxBehind)], ", "))
		if n > maxBehind {
			fmt.Fprintf(&b, " and %s", words.Say(n-maxBehind, "more shard", "more shards"))
		}
	case len(o.Shards) > 0:
		fmt.Fprintf(&b, "; no rows wait in %s", words.Count(len(o.Shards), "shard"))
		if !slices.ContainsFunc(o.Shards, func(s StorageLag) bool { return s.LogSeconds == nil }) {
			b.WriteString(", and the log is there")
		}
	}
	return b.String()
}

// late describes what is late of a shard, or returns an empty text.
func (s *StorageLag) late() string {
	var parts []string
	note := func(what string, lag float64) {
		if lag >= behind.Seconds() {
			parts = append(parts, what+" "+seconds(lag))
		}
	}
	note("rows", s.RowsSeconds)
	note("state", s.StateSeconds)
	if s.LogSeconds != nil {
		note("log", *s.LogSeconds)
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("shard %d (%s)", s.Shard, strings.Join(parts, ", "))
}

// seconds formats a time in whole seconds.
func seconds(n float64) string {
	return time.Duration(n * float64(time.Second)).Round(time.Second).String()
}
