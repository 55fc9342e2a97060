// Package tier moves old rows of a shard to object storage.
package tier

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/cold/bucket"
)

// Tier is the place for old rows, and says which rows are old. The shards of a node share it. A shard without a Tier
// keeps all rows on the local disk.
type Tier struct {
	// Bucket is the cluster's part of a bucket: its location has the prefix below which all keys are. It repeats requests
	// that may succeed later, and compares what it stored, as a bucket.Guard does. Required.
	Bucket bucket.Bucket
	// Cluster is the id of the cluster, with which all keys begin. So a leader never removes objects of another cluster.
	// Required.
	Cluster string
	// Node describes the node for operators, in the bucket.
	Node string
	// Tables reports whether the old rows of a table go to the bucket. It must not block. Nil means those of all tables.
	// Tables that merge rows are left out in any case.
	Tables func(*schema.Table) bool
	// CutBytes is the size of the files of a table, in bytes, from which its rows go to the bucket although they are not
	// old. The default value is 256 MiB.
	CutBytes int64
	// UploadAfter is the time from when rows were flushed until they are old. The default value is an hour.
	UploadAfter time.Duration
	// JoinAfter is the time after a day from which small objects of it are joined, but not before their rows may leave the
	// local disk. The default value is 2 hours. JoinBytes is the size from which the objects that a table has in a set are
	// not small. The default value is 64 MiB.
	JoinAfter time.Duration
	JoinBytes int64
	// LocalFor is how long rows stay on the local disk too, counted from their time index. A query of younger rows never
	// waits for the bucket. 0 means as long as they exist.
	LocalFor time.Duration
	// Grace is how long an object is kept after all its rows have expired or were dropped. The default value is 48 hours.
	Grace time.Duration
	// OrphanAge is the age from which an object is deleted that belongs to a cut that is closed, and is not named by its
	// offload. The default value is 7 days.
	OrphanAge time.Duration
	// Every is how often a shard looks for old rows. The default value is a minute.
	Every time.Duration
	// StateEvery is the minimum pause between two states of a shard in the bucket, except that one is stored as soon as
	// its objects have changed. The default value is 10 minutes.
	StateEvery time.Duration
	// LogEvery is how often the committed entries of the log are stored; 0 means that they are not. LogBucket is like
	// Bucket, but need not wait for objects; the default is Bucket. If LogTurns is set, it limits by its capacity how many
	// shards store entries at the same time. Entries stay for LogGrace before the ones that are needed, because batches
	// that were appended then may have been sent again. The default value is an hour.
	LogEvery  time.Duration
	LogBucket bucket.Bucket
	LogTurns  chan struct{}
	LogGrace  time.Duration
}

// WithDefaults returns a copy in which fields that are 0 have their default values. It returns nil for nil.
func (t *Tier) WithDefaults() *Tier {
	if t == nil {
		return nil
	}
	d := *t
	d.CutBytes = cmp.Or(d.CutBytes, 256<<20)
	d.UploadAfter = cmp.Or(d.UploadAfter, time.Hour)
	d.JoinAfter = cmp.Or(d.JoinAfter, 2*time.Hour)
	d.JoinBytes = cmp.Or(d.JoinBytes, 64<<20)
	d.Grace = cmp.Or(d.Grace, 48*time.Hour)
	d.OrphanAge = cmp.Or(d.OrphanAge, 7*24*time.Hour)
	d.Every = cmp.Or(d.Every, time.Minute)
	d.StateEvery = cmp.Or(d.StateEvery, 10*time.Minute)
	d.LogGrace = cmp.Or(d.LogGrace, time.Hour)
	if d.LogBucket == nil {
		d.LogBucket = d.Bucket
	}
	return &d
}

// Moves reports whether the old rows of a table go to the bucket, if the table keeps every row.
func (t *Tier) Moves(table *schema.Table) bool { return t.Tables == nil || t.Tables(table) }

// localFor returns how long rows of a table stay on the local disk too; 0 means as long as they live.
func (t *Tier) localFor(table *schema.Table) time.Duration {
	if stay, ok := schema.LocalFor(table.Options); ok {
		return stay
	}
	return t.LocalFor
}

// Validate reports everything that is wrong with t. A nil Tier is right.
func (t *Tier) Validate() error {
	if t == nil {
		return nil
	}
	var faults []error
	if t.Bucket == nil {
		faults = append(faults, errors.New("the Bucket of the Tier is nil; set a bucket, or no Tier"))
	}
	if err := bucket.CheckKey(t.Cluster); err != nil || strings.Contains(t.Cluster, "/") {
		faults = append(faults, fmt.Errorf("the Cluster of the Tier is %q; set the id of the cluster", t.Cluster))
	}
	positive := func(name string, ok bool, value any) {
		if !ok {
			faults = append(faults, fmt.Errorf("the %s of the Tier is %v, want a positive value", name, value))
		}
	}
	positive("CutBytes", t.CutBytes >= 0, t.CutBytes)
	positive("UploadAfter", t.UploadAfter >= 0, t.UploadAfter)
	positive("JoinAfter", t.JoinAfter >= 0, t.JoinAfter)
	positive("JoinBytes", t.JoinBytes >= 0, t.JoinBytes)
	positive("LocalFor", t.LocalFor >= 0, t.LocalFor)
	positive("Grace", t.Grace >= 0, t.Grace)
	positive("OrphanAge", t.OrphanAge >= 0, t.OrphanAge)
	positive("Every", t.Every >= 0, t.Every)
	positive("StateEvery", t.StateEvery >= 0, t.StateEvery)
	positive("LogEvery", t.LogEvery >= 0, t.LogEvery)
	positive("LogGrace", t.LogGrace >= 0, t.LogGrace)
	return errors.Join(faults...)
}
