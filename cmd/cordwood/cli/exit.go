package cli

import (
	"errors"
	"strconv"
)

// Exit statuses of the program.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// ExitStatus returns the status that the program exits with after err.
func ExitStatus(err error) int {
	var silent silentError
	var misuse usageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &silent):
		return silent.Status
	case errors.As(err, &misuse):
		return ExitUsage
	}
	return ExitFailed
}

// silentError ends the program with a status. It prints no message: the command has printed its result.
type silentError struct{ Status int }

func (e silentError) Error() string { return "exit status " + strconv.Itoa(e.Status) }

// ExitWith returns an error that ends the program with a status and prints nothing.
func ExitWith(status int) error { return silentError{status} }

// IsSilent reports whether err was made by ExitWith.
func IsSilent(err error) bool { return errors.As(err, new(silentError)) }

// usageError is an error in the arguments or flags of a command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// WrongUsage marks err as an error in the arguments or flags of a command: the status is ExitUsage, and the message
// refers to the command's help.
func WrongUsage(err error) error { return usageError{err} }

// linesError is an error that is printed with its line breaks.
type linesError struct{ error }

func (e linesError) Unwrap() error { return e.error }

// SeveralLines marks err as an error that is printed with its line breaks, such as an excerpt of a program.
func SeveralLines(err error) error { return linesError{err} }
