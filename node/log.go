package node

import (
	"io"
	"log/slog"
	"os"

	"github.com/mattn/go-isatty"
)

// newLogger returns the node's logger, which writes to w as the configuration says,
// and sets level, by which its level can be changed later.
func newLogger(c *Config, w io.Writer, level *slog.LevelVar) (*slog.Logger, error) {
	first, err := c.logLevel()
	if err != nil {
		return nil, err
	}
	level.Set(first)
	format := c.Log.Format
	if format == "" {
		format = "json"
		if IsTerminal(w) {
			format = "text"
		}
	}
	opts := &slog.HandlerOptions{Level: level}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, opts)), nil
	}
	return slog.New(slog.NewJSONHandler(w, opts)), nil
}

// IsTerminal tells whether somebody looks at what is written to w.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}
