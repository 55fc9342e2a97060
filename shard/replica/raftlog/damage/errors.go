// Package damage recognises files of a replica that are not as they were written: it
// has the errors that say so, and the checksums of what the libraries below store
// without one.
//
// It reads and writes no files itself.
package damage

import (
	"errors"
	"fmt"
)

var (
	// ErrDamaged matches, by errors.Is, every error that says that files of a replica are
	// not as they were written, or are missing. Trying again does not help; another replica
	// or a backup does.
	ErrDamaged = errors.New("files of the replica are damaged")
	// ErrUnsupported matches every error that says that a file has a format of a higher
	// version than this program reads.
	ErrUnsupported = errors.New("written by a newer version of this program")
)

// Errorf returns an error with the text of fmt.Errorf that matches ErrDamaged.
func Errorf(format string, args ...any) error {
	return &damaged{fmt.Errorf(format, args...)}
}

type damaged struct{ error }

func (e *damaged) Unwrap() error { return e.error }

func (e *damaged) Is(target error) bool { return target == ErrDamaged }
