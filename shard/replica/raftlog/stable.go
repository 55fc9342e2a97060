package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"cordwood/shard/replica/raftlog/damage"
	"cordwood/shard/replica/raftlog/guard"
)

// ErrNotFound is the error for a value that was never set. Raft recognises it by its text.
var ErrNotFound = errors.New("not found")

// currentTerm is the key under which raft stores its term.
var currentTerm = []byte("CurrentTerm")

// Set stores one of raft's values with a checksum (damage.SealValue). If it fails while raft runs,
// it does not return: it ends the goroutine. Raft would panic if it could not store its term or its
// vote, and must not continue as if it had stored them. At that time raft is being shut down, or
// the log has failed and the process is about to end with the reason.
func (s *Log) Set(key, val []byte) error {
	err := s.change("set "+string(key), func() error { return s.backend.Set(key, damage.SealValue(key, val)) })
	if err != nil && !s.isLoading() || errors.Is(err, guard.ErrClosed) {
		runtime.Goexit()
	}
	return err
}

// Get returns one of raft's values, or ErrNotFound.
func (s *Log) Get(key []byte) ([]byte, error) {
	stored, err := s.backend.Get(key)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) || err == nil && len(stored) == 0 {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	val, err := damage.OpenValue(key, stored)
	if err != nil {
		return nil, fmt.Errorf("log: %w; restore the directory from a replica or a backup", err)
	}
	return val, nil
}

// SetUint64 is like Set, for a number.
func (s *Log) SetUint64(key []byte, val uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

// GetUint64 is like Get, for a number.
func (s *Log) GetUint64(key []byte) (uint64, error) {
	val, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(val) != 8 {
		return 0, fmt.Errorf("log: the value of %s has %d bytes, want 8; restore the directory from a replica or a "+
			"backup", key, len(val))
	}
	return binary.BigEndian.Uint64(val), nil
}

// Term returns the current term of raft, or 0 if it is not stored.
func (s *Log) Term() (uint64, error) {
	term, err := s.GetUint64(currentTerm)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return term, err
}

// SetTerm stores the current term. Raft must not be running.
func (s *Log) SetTerm(term uint64) error { return s.SetUint64(currentTerm, term) }
