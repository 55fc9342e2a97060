// Package backup writes the data of a cluster to a repository while the cluster works, checks it there, and restores
// it into a cluster. DESIGN.md explains it, FORMAT.md describes the files.
//
// A Repository holds any number of backups; files that several backups share are stored once. Create adds a backup,
// Verify reads everything back, Delete and Prune remove backups, and Restore fills a cluster. Cluster is the
// interface of backups to a running cluster.
//
// A Repository may be used concurrently, also by several processes. It has no goroutines except during calls.
package backup

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cordwood/node/backup/store"
	"cordwood/proto/backuppb"
)

// Errors that callers distinguish.
var (
	// ErrNoRepository is returned for a location that holds no repository.
	ErrNoRepository = errors.New("there is no backup repository")
	// ErrNewer is returned for files of a later format.
	ErrNewer = errors.New("written by a newer version of cordwood")
	// ErrBusy is returned while another process uses the repository in a way that excludes the
	// request.
	ErrBusy = errors.New("the repository is in use")
)

// Repository is an open repository.
type Repository struct {
	store store.Store
	now   func() time.Time
	info  info
	made  bool // Open has just created it
}

// info is the content of the repository's own file. A file with any bytes other than those that encode writes is
// refused.
type info struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	ID      string `json:"id"`
	Created string `json:"created"`
}

const (
	infoFormat  = "cordwood backups"
	infoVersion = 1
	// maxInfo is the maximum size of the repository's own file.
	maxInfo = 64 << 10
)

func (i info) encode() []byte {
	b, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		panic(err) // cannot fail: a struct of strings
	}
	return append(b, '\n')
}

func decodeInfo(b []byte) (info, error) {
	var i info
	if err := json.Unmarshal(b, &i); err != nil {
		return i, fmt.Errorf("%s is damaged: %w", infoName, err)
	}
	if i.Format != infoFormat || i.Version < 1 {
		return i, fmt.Errorf("%s is damaged: format %q, version %d", infoName, i.Format, i.Version)
	}
	if i.Version > infoVersion {
		return i, fmt.Errorf("%s: version %d, this program supports %d: %w", infoName, i.Version, infoVersion, ErrNewer)
	}
	if string(b) != string(i.encode()) || len(i.ID) != idLength || !validTime(i.Created) {
		return i, fmt.Errorf("%s is damaged: its content has changed", infoName)
	}
	return i, nil
}

func validTime(s string) bool {
	t, err := time.Parse(time.RFC3339, s)
	return err == nil && t.Year() > 2000 && t.Year() < 2200
}

// idLength is the length of a repository's id, which ends with a check of its other fields.
const idLength = 26 + checkLength

// Open opens the repository in st. It returns ErrNoRepository if there is none.
func Open(ctx context.Context, st store.Store) (*Repository, error) {
	b, err := readSmall(ctx, st, infoName, maxInfo)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%w in %s: 'cordwood backup create %s' creates one with its first backup", ErrNoRepository,
			st.Location(), st.Location())
	}
	if err != nil {
		return nil, fmt.Errorf("open the repository %s: %w", st.Location(), err)
	}
	i, err := decodeInfo(b)
	if err == nil && !i.sound() {
		err = fmt.Errorf("%s is damaged: its id does not match its content", infoName)
	}
	if errors.Is(err, ErrNewer) {
		return nil, fmt.Errorf("repository %s: %w", st.Location(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w; the backups may be undamaged: put the file back, or copy the file of a "+
			"new "+
			"repository ('cordwood backup create ./NEW')", st.Location(), err)
	}
	return &Repository{store: st, now: time.Now, info: i}, nil
}

// OpenOrCreate opens the repository in st, or creates one if st is empty.
func OpenOrCreate(ctx context.Context, st store.Store) (*Repository, error) {
	r, err := Open(ctx, st)
	if !errors.Is(err, ErrNoRepository) {
		return r, err
	}
	found := errors.New("found")
	err = st.List(ctx, "", func(o store.Object) error { return fmt.Errorf("%w %s", found, o.Name) })
	if errors.Is(err, found) {
		return nil, fmt.Errorf("%s holds files but is not a backup repository (%w): choose an empty or a new location",
			st.Location(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("create the repository %s: %w", st.Location(), err)
	}
	i := info{Format: infoFormat, Version: infoVersion, ID: rand.Text(), Created: time.Now().UTC().Format(time.RFC3339)}
	i.ID += i.check()
	if err := put(ctx, st, infoName, i.encode()); err != nil {
		return nil, fmt.Errorf("create the repository %s: %w", st.Location(), err)
	}
	r, err = Open(ctx, st)
	if err == nil {
		r.made = true
	}
	return r, err
}

// Made reports whether opening the repository created it.
func (r *Repository) Made() bool { return r.made }

// Location returns the location of the repository for display.
func (r *Repository) Location() string { return r.store.Location() }

// Summary is an entry of the list of backups.
type Summary struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	// Finished is the time when its manifest was written.
	Finished  time.Time `json:"finished"`
	Version   string    `json:"cordwood_version"`
	ClusterID string    `json:"cluster_id"`
	Shards    int       `json:"shards"`
	Tables    uint64    `json:"tables"`
	Rows      int64     `json:"rows"`
	Bytes     int64     `json:"bytes"`
	// Fault, if set, is the reason why the manifest cannot be read.
	Fault string `json:"fault,omitempty"`
}

func summary(b *backuppb.Backup) Summary {
	return Summary{
		ID: b.Id, Started: time.Unix(0, b.StartedUnixNano).UTC(), Finished: time.Unix(0, b.FinishedUnixNano).UTC(),
		Version: b.CordwoodVersion, ClusterID: b.ClusterId, Shards: len(b.Shards), Tables: b.Tables, Rows: b.Rows,
		Bytes: b.Bytes,
	}
}

// List lists the backups, the oldest first. A backup with an unreadable manifest has a Fault.
func (r *Repository) List(ctx context.Context) ([]Summary, error) {
	ids, err := r.ids(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Summary, 0, len(ids))
	for _, id := range ids {
		b, err := r.load(ctx, id)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			out = append(out, Summary{ID: id, Fault: err.Error()})
		default:
			out = append(out, summary(b))
		}
	}
	return out, nil
}

// ids lists the ids of the backups, the oldest first.
func (r *Repository) ids(ctx context.Context) ([]string, error) {
	var ids []string
	err := r.store.List(ctx, manifestPrefix, func(o store.Object) error {
		if id, ok := parseManifestName(o.Name); ok {
			ids = append(ids, id)
		}
		return nil
	})
	slices.Sort(ids) // ids begin with the time
	return ids, err
}

// load reads a backup's manifest.
func (r *Repository) load(ctx context.Context, id string) (*backuppb.Backup, error) {
	name := manifestName(id)
	raw, err := readSmall(ctx, r.store, name, maxManifest)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("there is no backup %s in %s: 'cordwood backup list %s' lists the backups there", id,
			r.Location(), r.Location())
	}
	if err != nil {
		return nil, fmt.Errorf("backup %s: %w", id, err)
	}
	b := &backuppb.Backup{}
	n := 0
	err = readFrame(raw, kindManifest, func(record []byte) error {
		n++
		return unmarshal(record, b)
	})
	if err == nil && n != 1 {
		err = fmt.Errorf("it has %d records, want one", n)
	}
	if err == nil {
		err = checkManifest(b, id)
	}
	if err != nil {
		return nil, fmt.Errorf("backup %s: manifest %s: %w", id, name, err)
	}
	return b, nil
}

// checkManifest returns an error for a manifest that Create cannot have written.
func checkManifest(b *backuppb.Backup, id string) error {
	if b.Id != id {
		return fmt.Errorf("it belongs to backup %s", b.Id)
	}
	if b.Metadata == nil || len(b.Metadata.Sha256) != sha256Size {
		return errors.New("it lists no metadata")
	}
	for _, s := range b.Shards {
		for _, seg := range s.Segments {
			if seg.Segment == nil || len(seg.Sha256) != sha256Size || seg.Segment.Bytes < 0 {
				return fmt.Errorf("shard %d: a segment is not described", s.Id)
			}
		}
	}
	return nil
}

// Find returns the backup with an id, or the newest one if the id is "" or "latest". A prefix of an id suffices if
// only one backup has it.
func (r *Repository) Find(ctx context.Context, id string) (*backuppb.Backup, error) {
	ids, err := r.ids(ctx)
	if err != nil {
		return nil, err
	}
	if id == "" || id == "latest" {
		if len(ids) == 0 {
			return nil, fmt.Errorf("%s holds no complete backup", r.Location())
		}
		return r.load(ctx, ids[len(ids)-1])
	}
	if i, ok := slices.BinarySearch(ids, id); ok {
		return r.load(ctx, ids[i])
	}
	var found []string
	for _, have := range ids {
		if strings.HasPrefix(have, id) {
			found = append(found, have)
		}
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%d backups begin with %s: %s", len(found), id, strings.Join(found[:min(len(found), 5)], ", "))
	}
	if len(found) == 1 {
		id = found[0]
	}
	return r.load(ctx, id)
}

// newID returns the id of a backup: ids sort by time, to the millisecond.
func newID(t time.Time) string {
	return strings.Replace(t.UTC().Format("20060102T150405.000Z"), ".", "", 1) + "-" + strings.ToLower(rand.Text()[:6])
}

// readSmall reads a whole object of at most limit bytes.
func readSmall(ctx context.Context, st store.Store, name string, limit int64) ([]byte, error) {
	r := newResumer(ctx, name, func(offset int64) (io.ReadCloser, error) { return st.Open(ctx, name, offset) })
	defer r.close()
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is damaged: it has more than %d bytes", name, limit)
	}
	return b, err
}

// put writes a small object.
func put(ctx context.Context, st store.Store, name string, b []byte) error {
	u, err := st.Create(ctx)
	if err != nil {
		return err
	}
	defer u.Abort()
	if _, err := u.Write(b); err != nil {
		return err
	}
	return u.Commit(ctx, name)
}

func sortedBy[T any, K cmp.Ordered](list []T, key func(T) K) []T {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return list
}
