package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// keptOutput is the number of bytes of a process's output that are kept in addition to its log.
const keptOutput = 4 << 10

// output receives what a process writes to its standard error: log lines, which go to the server's
// log, and texts of its runtime when it crashes.
type output struct {
	log  *slog.Logger
	done chan struct{}

	mu   sync.Mutex // guards kept
	kept []byte
}

// pipe returns the file to which the process has to write.
func (o *output) pipe() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create a pipe for its standard error: %w", err)
	}
	o.done = make(chan struct{})
	go func() {
		defer close(o.done)
		defer r.Close()
		o.read(r)
	}()
	return w, nil
}

// wait waits until everything that an ended process wrote has been read.
func (o *output) wait() {
	select {
	case <-o.done:
	case <-time.After(time.Second):
	}
}

func (o *output) read(r io.Reader) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 && !o.relay(line) {
			o.mu.Lock()
			if room := keptOutput - len(o.kept); room > 0 {
				o.kept = append(o.kept, line[:min(len(line), room)]...)
			}
			o.mu.Unlock()
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// relay logs a line if it is a record of the child's logger.
func (o *output) relay(line []byte) bool {
	var fields map[string]any
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &fields) != nil {
		return false
	}
	var level slog.Level
	text, _ := fields["level"].(string)
	if level.UnmarshalText([]byte(text)) != nil {
		return false
	}
	msg, _ := fields["msg"].(string)
	args := []any{}
	for k, v := range fields {
		if k != "level" && k != "msg" && k != "time" {
			args = append(args, k, v)
		}
	}
	o.log.Log(context.Background(), level, msg, args...)
	return true
}

// text returns the output except the log.
func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.kept)
}

// excerpt returns the first line of the output, for an error.
func (o *output) excerpt() string {
	o.wait()
	line, _, _ := strings.Cut(o.text(), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}

// outOfMemory reports whether the process ended because it could not get more memory.
func (o *output) outOfMemory() bool {
	text := o.text()
	for _, sign := range []string{
		"out of memory", "cannot allocate memory", "std::bad_alloc", "failed to create new OS thread", "Out of memory",
	} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
