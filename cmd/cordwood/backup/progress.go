package backup

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"cordwood/cmd/cordwood/cli"
)

// statusEvery is the interval of progress lines when a long command does not run on a terminal.
const statusEvery = 30 * time.Second

// showProgress shows the progress of a command that takes longer than a moment, until stop is called: on a terminal
// in one line that is overwritten, elsewhere in a new line every statusEvery.
func showProgress(out io.Writer, text func() string) (stop func()) {
	f, isFile := out.(*os.File)
	terminal := isFile && term.IsTerminal(int(f.Fd()))
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		every := statusEvery
		if terminal {
			every = cli.ProgressEvery
			select {
			case <-time.After(cli.ProgressAfter):
			case <-quit:
				return
			}
		}
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				if terminal {
					fmt.Fprint(out, "\r\x1b[K")
				}
				return
			case <-tick.C:
			}
			if terminal {
				width, _ := cli.TerminalSize(f)
				fmt.Fprintf(out, "\r\x1b[K%s", fitted(text(), width))
			} else {
				fmt.Fprintln(out, text())
			}
		}
	})
	return func() {
		close(quit)
		done.Wait()
	}
}

// fitted returns a text cut to the width of the terminal, so that the next line of progress can overwrite it.
func fitted(text string, width int) string {
	if width <= 1 {
		return text
	}
	return runewidth.Truncate(text, width-1, "…")
}

// noteLogger returns a logger that prints messages for operators as lines of text.
func noteLogger(out io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}
