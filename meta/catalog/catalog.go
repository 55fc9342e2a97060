// Package catalog is the state of the metadata group: databases, tables, pipelines,
// shards, nodes and counters, in one bbolt file, together with the index of the last
// command that it holds. FORMAT.md describes the file.
//
// It also has the rules by which a table may change (evolve.go), which are pure
// functions. It does not know commands, raft, or who is allowed to do what.
//
// Life cycle: Open, then View and Update, then Close. There is one Update at a
// time, called by the state machine only; any number of Views run beside it and
// see the state as it was when they began.
package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"google.golang.org/protobuf/proto"

	"cordwood/shard/vfs"
)

// formatVersion is the newest version of the file's layout, digestFormat the first one
// with a digest, and clusterFormat the first one with clusterBuckets; part of the format.
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

// laterBuckets are made when a file is opened, clusterBuckets when something is stored in
// them, which no version does that does not read them.
var (
	laterBuckets   = [][]byte{bucketPipelines, bucketTexts}
	clusterBuckets = [][]byte{bucketOperations, bucketRemoved, bucketProposals, bucketOrder}
)

// ErrUnsupported is returned for a file that a newer version wrote.
var ErrUnsupported = errors.New("written by a newer version of this program")

// Catalog is the open file.
type Catalog struct {
	path string
	mu   sync.RWMutex // guards db itself: Restore exchanges it
	db   *bbolt.DB
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
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 2 * time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
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

// addBuckets makes the buckets that the first files lacked, where absence means empty.
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

// Path is the file's.
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
	return c.db.View(func(tx *bbolt.Tx) error { return f(&Tx{tx: tx}) })
}

// Update calls f, which may change the state through tx. If f returns nil, its
// changes are durable when Update does; else nothing was changed.
func (c *Catalog) Update(f func(tx *Tx) error) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.db.Update(func(tx *bbolt.Tx) error {
		t := &Tx{tx: tx}
		if err := f(t); err != nil {
			return err
		}
		return t.finish()
	})
}

// Frozen is a state that stays as it is while the catalog moves on.
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

// Persist writes the state as a file that Restore takes.
func (f *Frozen) Persist(w io.Writer) error {
	if _, err := f.tx.WriteTo(w); err != nil {
		return fmt.Errorf("catalog %s: write snapshot: %w", f.c.path, err)
	}
	return nil
}

// Release ends the use of the frozen state. It must be called once.
func (f *Frozen) Release() {
	_ = f.tx.Rollback() // a read transaction has nothing to lose
	f.c.mu.RUnlock()
}

// Restore replaces the state by one that Persist wrote. After an error before the
// new file took the old one's place, the old state is kept.
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
	c.db, err = openFile(c.path)
	return err
}

// checkFile tells whether path holds a catalog that this program can read.
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

// Tx is the state as one transaction sees it. What it returns belongs to the
// caller. Its errors are those of the file; that something does not exist is no error.
type Tx struct {
	tx     *bbolt.Tx
	writes int
	digest uint64 // what the changes add to the state's
}

// Writes is how many changes were made so far.
func (t *Tx) Writes() int { return t.writes }

// Format is the version of the file's layout.
func (t *Tx) Format() uint64 { return number(t.tx.Bucket(bucketMeta).Get(keyFormat)) }

// Applied is the index and term of the last command in the state.
func (t *Tx) Applied() (index, term uint64) {
	v := t.tx.Bucket(bucketMeta).Get(keyApplied)
	if len(v) != 16 {
		return 0, 0
	}
	return binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:])
}

// SetApplied records the last command.
func (t *Tx) SetApplied(index, term uint64) error {
	return t.put(bucketMeta, keyApplied, binary.BigEndian.AppendUint64(u64(index), term))
}

// ClusterID is empty until the cluster is bootstrapped.
func (t *Tx) ClusterID() string { return string(t.tx.Bucket(bucketMeta).Get(keyClusterID)) }

// SetClusterID names the cluster.
func (t *Tx) SetClusterID(id string) error { return t.put(bucketMeta, keyClusterID, []byte(id)) }

// NextTableID returns an id that no table ever had.
func (t *Tx) NextTableID() (uint64, error) { return t.count(keyLastTable, 1) }

// NextSessionID returns an id that no session ever had.
func (t *Tx) NextSessionID() (uint64, error) { return t.count(keyLastSession, 1) }

// LastTableID is the highest id that a table ever had.
func (t *Tx) LastTableID() uint64 { return number(t.tx.Bucket(bucketMeta).Get(keyLastTable)) }

// RaiseTableID has the ids of tables go on behind one that is not used below.
func (t *Tx) RaiseTableID(last uint64) error { return t.put(bucketMeta, keyLastTable, u64(last)) }

// CounterStep is what RaiseCounters adds; part of the state machine.
const CounterStep = 1 << 20

// RaiseCounters adds CounterStep to everything that numbers are given from, so that none is given
// again that was given by commands which the state has lost.
func (t *Tx) RaiseCounters() error {
	for _, key := range [][]byte{keyLastTable, keyLastSession, keyLastOperation, keyLastVersion, keyIncarnation} {
		if _, err := t.count(key, CounterStep); err != nil {
			return err
		}
	}
	return nil
}

// FirstIncarnation is the incarnation with which a new shard begins. It is above 1 if the state
// has lost commands: ids of shards count up without a gap, and a folder may hold another shard of
// that id.
func (t *Tx) FirstIncarnation() uint32 {
	return uint32(number(t.tx.Bucket(bucketMeta).Get(keyIncarnation))) + 1
}

// TableCount is the number of tables.
func (t *Tx) TableCount() uint64 { return number(t.tx.Bucket(bucketMeta).Get(keyTables)) }

// DatabaseCount is the number of databases.
func (t *Tx) DatabaseCount() uint64 { return number(t.tx.Bucket(bucketMeta).Get(keyDatabases)) }

// count adds delta to a counter of the bucket meta and returns its new value.
func (t *Tx) count(key []byte, delta int64) (uint64, error) {
	v := uint64(int64(number(t.tx.Bucket(bucketMeta).Get(key))) + delta)
	return v, t.put(bucketMeta, key, u64(v))
}

// get reads a message; found is false if there is none.
func (t *Tx) get(bucket, key []byte, m proto.Message) (found bool, err error) {
	b := t.tx.Bucket(bucket)
	if b == nil {
		return false, nil
	}
	v := b.Get(key)
	if v == nil {
		return false, nil
	}
	if err := proto.Unmarshal(v, m); err != nil {
		return false, fmt.Errorf("bucket %s, key %x: %w", bucket, key, err)
	}
	return true, nil
}

func (t *Tx) putMessage(bucket, key []byte, m proto.Message) error {
	v, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("bucket %s, key %x: %w", bucket, key, err)
	}
	return t.put(bucket, key, v)
}

// list decodes a whole bucket in key order; one that is not there is empty.
func list[M proto.Message](b *bbolt.Bucket, newMessage func() M) ([]M, error) {
	if b == nil {
		return nil, nil
	}
	var out []M
	cur := b.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		m := newMessage()
		if err := proto.Unmarshal(v, m); err != nil {
			return nil, fmt.Errorf("key %x: %w", k, err)
		}
		out = append(out, m)
	}
	return out, nil
}

func u64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// number is the value of a counter; a missing one is 0.
func number(v []byte) uint64 {
	if len(v) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(v)
}

// nameKey is the key of a table in the bucket table_names.
func nameKey(database, name string) []byte {
	return append(append([]byte(database), 0), name...)
}

// databasePrefix is what the name keys of a database's tables begin with.
func databasePrefix(database string) []byte { return append([]byte(database), 0) }
