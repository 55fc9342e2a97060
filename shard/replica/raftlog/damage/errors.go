// Package damage defines the errors for damaged files of a replica, and the checksums for data that
// the underlying libraries store without one.
//
// It reads and writes no files itself.
package damage

import (
	"errors"
	"fmt"
)

var (
	// ErrDamaged matches, by errors.Is, every error about files of a replica that are damaged or
	// missing. Trying again does not help. The files have to be restored from another replica or a
	// backup.
	ErrDamaged = errors.New("files of the replica are damaged")
	// ErrUnsupported matches every error about a file whose format version is higher than this
	// program can read.
	ErrUnsupported = errors.New("written by a newer version of this program")
)

// Errorf returns an error with the text of fmt.Errorf that matches ErrDamaged.
func Errorf(format string, args ...any) error {
	return &damaged{fmt.Errorf(format, args...)}
}

type damaged struct{ error }

func (e *damaged) Unwrap() error { return e.error }

func (e *damaged) Is(target error) bool { return target == ErrDamaged }
