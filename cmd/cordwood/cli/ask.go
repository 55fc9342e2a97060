package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// Confirm asks question on the terminal and returns an error unless the answer is yes.
func Confirm(cmd *cobra.Command, question string) error {
	answer, err := Ask(cmd, question+" [y/N] ", "say --yes")
	if err != nil {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed")
}

// CanAsk reports whether there is a terminal on which a user may answer.
func CanAsk(cmd *cobra.Command) bool {
	return cmd.InOrStdin() == io.Reader(os.Stdin) && isatty.IsTerminal(os.Stdin.Fd())
}

// Ask prints question on the terminal and returns the line that the user types. Without a terminal it fails; the
// error contains the text instead, such as the flag that gives the answer.
func Ask(cmd *cobra.Command, question, instead string) (string, error) {
	if !CanAsk(cmd) {
		return "", WrongUsage(fmt.Errorf("there is no terminal to ask at: %s", instead))
	}
	fmt.Fprint(cmd.ErrOrStderr(), question)
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(answer), nil
}

// Interruptible returns a context that ends with Ctrl-C or SIGTERM, so that the command can remove
// unfinished files.
func Interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
}
