// Package catalog is the state of the metadata group: databases, tables, pipelines, shards, nodes and counters, in
// one bbolt file, together with the index of the last command that it holds. FORMAT.md describes the file.
//
// It also has the rules by which a table may change (evolve.go), which are pure functions. It knows nothing about
// commands, raft, or rights.
//
// Life cycle: Open, then View and Update, then Close. There is one Update at a time, called by the state machine
// only; any number of Views may run at the same time, and see the state at their start.
package catalog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"cordwood/shard/vfs"
)

// formatVersion is the newest version of the file's layout. digestFormat is the first one with a digest, and
// clusterFormat the first one with clusterBuckets. They are part of the format.
const (
	formatVersion = 3
	digestFormat  = 2
	clusterFormat = 3
)

// The buckets, and the keys of the bucket meta; part of the format.
var (
	bucketMeta      = []byte("meta")
	bucketDatabases = []byte("databases")
	bucketTables    = []byte("tables")
	bucketNames     = []byte("table_names")
	bucketDropped   = []byte("dropped_tables")
	bucketShards    = []byte("shards")
	bucketLoads     = []byte("shard_tables")
	bucketNodes     = []byte("nodes")

	keyFormat      = []byte("format")
	keyApplied     = []byte("applied")
	keyClusterID   = []byte("cluster_id")
	keyLastTable   = []byte("last_table_id")
	keyLastSession = []byte("last_session_id")
	keyIncarnation = []byte("last_incarnation")
	keyTables      = []byte("tables")
	keyDatabases   = []byte("databases")
)

var allBuckets = [][]byte{
	bucketMeta, bucketDatabases, bucketTables, bucketNames, bucketDropped, bucketShards, bucketLoads, bucketNodes,
}

// laterBuckets are created when a file is opened. clusterBuckets are created when something is
// stored in them; only versions that can read them do so.
var (
	laterBuckets   = [][]byte{bucketPipelines, bucketTexts}
	clusterBuckets = [][]byte{
		bucketOperations, bucketRemoved, bucketProposals, bucketOrder, bucketRetired, bucketSaved, bucketSavedValues,
		bucketPrincipals, bucketTokens, bucketTokenUses, bucketAudit, bucketAuditHeads, bucketIceberg,
	}
)

// ErrUnsupported is the error for a file that a newer version wrote.
var ErrUnsupported = errors.New("written by a newer version of this program")

// Catalog is the open file.
type Catalog struct {
	path string
	mu   sync.RWMutex // guards db itself: Restore replaces it
	db   *bbolt.DB

	counts counts
}

// Open opens or creates the file at path. A new file is durable on return.
func Open(path string) (*Catalog, error) {
	db, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", path, err)
	}
	return &Catalog{path: path, db: db}, nil
}

// OpenReadOnly opens a file that exists, for View only.
func OpenReadOnly(path string) (*Catalog, error) {
	if err := verifyFile(path); err != nil {
		return nil, fmt.Errorf("catalog %s: %w", path, err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if errors.Is(err, bolterrors.ErrTimeout) {
		err = fmt.Errorf("%w: another process has it open, as a running server does", err)
	}
	if err == nil {
		if err = checkBuckets(db); err != nil {
			err = errors.Join(err, db.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", path, err)
	}
	return &Catalog{path: path, db: db}, nil
}

func openFile(path string) (_ *bbolt.DB, err error) {
	if err := verifyFile(path); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: 2 * time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%w: another process has it open", err)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	err = db.Update(func(tx *bbolt.Tx) error {
		if meta := tx.Bucket(bucketMeta); meta != nil {
			if err := checkFormat(meta); err != nil {
				return err
			}
			if err := addBuckets(tx); err != nil || number(meta.Get(keyFormat)) >= digestFormat {
				return err
			}
			if err := meta.Put(keyFormat, u64(digestFormat)); err != nil {
				return err
			}
			return addDigest(tx)
		}
		for _, name := range allBuckets {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		if err := addBuckets(tx); err != nil {
			return err
		}
		if err := tx.Bucket(bucketMeta).Put(keyFormat, u64(digestFormat)); err != nil {
			return err
		}
		return addDigest(tx)
	})
	if err != nil {
		return nil, err
	}
	return db, vfs.OS.SyncDir(filepath.Dir(path))
}

// addBuckets creates the buckets that the first files lacked; a missing bucket means an empty one.
func addBuckets(tx *bbolt.Tx) error {
	for _, name := range laterBuckets {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

func checkFormat(meta *bbolt.Bucket) error {
	if v := number(meta.Get(keyFormat)); v == 0 {
		return errors.New("the file has no format version")
	} else if v > formatVersion {
		return fmt.Errorf("format is %d, this program knows up to %d: %w", v, formatVersion, ErrUnsupported)
	}
	return nil
}

// Path returns the path of the file.
func (c *Catalog) Path() string { return c.path }

// Close closes the file after all Views have ended.
func (c *Catalog) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.db.Close()
}

// View calls f with the present state. f must not keep tx.
func (c *Catalog) View(f func(tx *Tx) error) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.db.View(func(tx *bbolt.Tx) error { return f(newTx(tx, &c.counts)) })
}

// Update calls f, which may change the state through tx. If f returns nil, its changes are durable
// when Update returns nil. Otherwise nothing is changed.
func (c *Catalog) Update(f func(tx *Tx) error) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var more map[string]int64
	err := c.db.Update(func(tx *bbolt.Tx) error {
		t := newTx(tx, &c.counts)
		if err := f(t); err != nil {
			return err
		}
		more = t.more
		return t.finish()
	})
	if err == nil {
		c.counts.commit(more)
	}
	return err
}

// Frozen is a snapshot of the state: the catalog may continue to change.
type Frozen struct {
	c  *Catalog
	tx *bbolt.Tx
}

// Freeze returns the present state. It keeps the catalog from being restored or
// closed until Release.
func (c *Catalog) Freeze() (*Frozen, error) {
	c.mu.RLock()
	tx, err := c.db.Begin(false)
	if err != nil {
		c.mu.RUnlock()
		return nil, fmt.Errorf("catalog %s: freeze: %w", c.path, err)
	}
	return &Frozen{c: c, tx: tx}, nil
}

// Persist writes the state as a file for Restore.
func (f *Frozen) Persist(w io.Writer) error {
	if _, err := f.tx.WriteTo(w); err != nil {
		return fmt.Errorf("catalog %s: write snapshot: %w", f.c.path, err)
	}
	return nil
}

// Release ends the use of the frozen state. It must be called once.
func (f *Frozen) Release() {
	_ = f.tx.Rollback() // a read transaction has no changes
	f.c.mu.RUnlock()
}

// Restore replaces the state by one that Persist wrote. If an error occurs before the new file has
// replaced the old one, the old state is kept.
func (c *Catalog) Restore(r io.Reader) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("catalog %s: restore: %w", c.path, err)
		}
	}()
	temp := c.path + ".restore"
	if err := writeFile(temp, r); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := checkFile(temp); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.db.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp, c.path); err != nil {
		return err
	}
	if err := vfs.OS.SyncDir(filepath.Dir(c.path)); err != nil {
		return err
	}
	c.counts.forget()
	c.db, err = openFile(c.path)
	return err
}

// checkFile reports whether path holds a catalog that this program can read.
func checkFile(path string) error {
	if err := verifyFile(path); err != nil {
		return err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	return errors.Join(checkBuckets(db), db.Close())
}

func checkBuckets(db *bbolt.DB) error {
	return db.View(func(tx *bbolt.Tx) error {
		for _, name := range allBuckets {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("bucket %s is missing", name)
			}
		}
		return checkFormat(tx.Bucket(bucketMeta))
	})
}

func writeFile(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Sync(), f.Close())
}
