package boltfile

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"cordwood/shard/replica/raftlog/damage"
)

// LogName is the file name of a log in a log directory.
const LogName = "raft.db"

// lockWait is how long to wait for another process that has the file open.
const lockWait = 2 * time.Second

// The buckets of a log in raft-boltdb: raft's values, and the entries.
const (
	valueBucket = "conf"
	entryBucket = "logs"
)

// OpenLog checks a log and opens it for writing; it creates the log if it is missing. If the file
// is damaged, it changes nothing and returns an error that matches damage.ErrDamaged.
//
// The caller adds and checks the checksums: of damage.SealEntries for entries, and of
// damage.SealValue for values.
func OpenLog(path string) (*raftboltdb.BoltStore, error) {
	// bbolt initializes an empty file, which was never used. The lock protects a file that another
	// process has open.
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		if _, _, err := VerifyLog(path, nil); err != nil {
			return nil, err
		}
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return open(path, raftboltdb.Options{
		MsgpackUseNewTimeFormat: true,
		BoltOptions:             &bbolt.Options{Timeout: lockWait, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
	})
}

func open(path string, options raftboltdb.Options) (*raftboltdb.BoltStore, error) {
	options.Path = path
	store, err := raftboltdb.New(options)
	if errors.Is(err, bolterrors.ErrTimeout) {
		err = fmt.Errorf("%w: another process has it open", err)
	}
	if err != nil {
		return nil, fmt.Errorf("log %s: %w", path, err)
	}
	return store, nil
}

// VerifyLog reads every page, value and entry of a log and changes nothing. It calls entry, if not
// nil, with each entry, and returns the indexes of the first and the last entry, or 0 if there is
// none. If the log is damaged, it returns an error that matches damage.ErrDamaged.
func VerifyLog(path string, entry func(*raft.Log) error) (first, last uint64, err error) {
	empty := true
	err = WalkBuckets(path, []string{valueBucket, entryBucket}, func(bucket string, key, value []byte) error {
		empty = false
		if key == nil || bucket != valueBucket {
			return nil
		}
		_, err := damage.OpenValue(key, value)
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("log %s: %w", path, err)
	}
	if empty {
		return 0, 0, nil // a process created the file and ended before it created the buckets
	}
	return readLog(path, func(index uint64, l *raft.Log, err error) error {
		if err != nil { // raft would panic for an entry that cannot be read
			return damage.Errorf("log %s: entry %d is damaged: %w; restore the directory from a replica or a backup",
				path, index, err)
		}
		if err := damage.OpenEntry(l); err != nil {
			return fmt.Errorf("log %s: %w", path, err)
		}
		if entry == nil {
			return nil
		}
		return entry(l)
	})
}

// EachEntry calls show with each entry of a log, in order. It checks nothing and changes
// nothing. It fails if another process has the log open.
func EachEntry(path string, show func(*raft.Log) error) error {
	_, _, err := readLog(path, func(index uint64, l *raft.Log, err error) error {
		switch {
		case errors.Is(err, raft.ErrLogNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("entry %d: %w", index, err)
		}
		return show(l)
	})
	return err
}

// readLog opens a log for reading and calls entry with each index and with the entry, or the
// error, that the store returns for it.
func readLog(path string, entry func(index uint64, l *raft.Log, err error) error) (first, last uint64, err error) {
	store, err := open(path, raftboltdb.Options{BoltOptions: &bbolt.Options{ReadOnly: true, Timeout: lockWait}})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if first, err = store.FirstIndex(); err != nil {
		return 0, 0, err
	}
	if last, err = store.LastIndex(); err != nil || last == 0 {
		return first, last, err
	}
	for index := first; index <= last; index++ {
		l := &raft.Log{}
		if err := entry(index, l, store.GetLog(index, l)); err != nil {
			return first, last, err
		}
	}
	return first, last, nil
}
