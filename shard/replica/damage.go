package replica

import (
	"errors"
	"fmt"
)

// ErrDamaged is what errors are, by errors.Is, that say that files of a replica are not as
// they were written, or gone: trying again does not help, another replica or a backup does.
var ErrDamaged = errors.New("files of the replica are damaged")

// Is makes ErrCorrupt an ErrDamaged.
func (e *ErrCorrupt) Is(target error) bool { return target == ErrDamaged }

// Is makes ErrCorruptBolt an ErrDamaged.
func (e *ErrCorruptBolt) Is(target error) bool { return target == ErrDamaged }

// damagedError is an ErrDamaged with another text.
type damagedError struct{ error }

func (e *damagedError) Unwrap() error { return e.error }

func (e *damagedError) Is(target error) bool { return target == ErrDamaged }

// damagedf is fmt.Errorf for an ErrDamaged.
func damagedf(format string, args ...any) error {
	return &damagedError{fmt.Errorf(format, args...)}
}
