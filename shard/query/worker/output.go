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

// keptOutput is how much of what a process writes besides its log is kept.
const keptOutput = 4 << 10

// output takes what a process writes on its standard error: its log, which goes to
// the server's, and what its runtime says when it breaks down.
type output struct {
	log  *slog.Logger
	done chan struct{}

	mu   sync.Mutex // guards kept
	kept []byte
}

// pipe returns where the process is to write.
func (o *output) pipe() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make its standard error: %w", err)
	}
	o.done = make(chan struct{})
	go func() {
		defer close(o.done)
		defer r.Close()
		o.read(r)
	}()
	return w, nil
}

// wait waits until all is read that an ended process wrote.
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

// relay logs a line that is a record of the child's logger.
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

// text returns what the process wrote besides its log.
func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.kept)
}

// excerpt returns its first line, for an error.
func (o *output) excerpt() string {
	o.wait()
	line, _, _ := strings.Cut(o.text(), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}

// outOfMemory reports whether the process ended because it got no more memory.
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
