package auth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a file must be unchanged before it is read, because editors and copy programs write in several
// steps.
const settle = 100 * time.Millisecond

// watcher notices changes of a file. It watches the folder, because most programs replace a file instead of writing
// into it.
type watcher struct {
	notify *fsnotify.Watcher
	path   string
	last   stamp // of the file when it was last read; only run uses it

	once sync.Once
	err  error
}

func newWatcher(path string) (*watcher, error) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("auth: watching %s: %w", path, err)
	}
	if err := n.Add(filepath.Dir(path)); err != nil {
		_ = n.Close()
		return nil, fmt.Errorf("auth: watching the folder of %s: %w", path, err)
	}
	w := &watcher{notify: n, path: path}
	w.last = w.read()
	return w, nil
}

// stamp has the properties of a file that show whether it has changed.
type stamp struct {
	modified time.Time
	size     int64
}

// read returns the stamp of the file. It follows links.
func (w *watcher) read() (s stamp) {
	if info, err := os.Stat(w.path); err == nil {
		s = stamp{info.ModTime(), info.Size()}
	}
	return s
}

// run calls changed once after each burst of changes, until ctx ends or w is closed.
func (w *watcher) run(ctx context.Context, changed func()) error {
	name := filepath.Base(w.path)
	var due <-chan time.Time
	if w.read() != w.last { // it changed since newWatcher was called
		due = time.After(settle)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, running := <-w.notify.Events:
			if !running {
				return nil
			}
			// If the path is a link, its target may change without an event for the path's own name.
			if filepath.Base(e.Name) == name || w.read() != w.last {
				due = time.After(settle)
			}
		case err, running := <-w.notify.Errors:
			if !running {
				return nil
			}
			if err != nil {
				due = time.After(settle) // events may have been lost, so the file is checked
			}
		case <-due:
			due = nil
			w.last = w.read()
			changed()
		}
	}
}

func (w *watcher) close() error {
	w.once.Do(func() { w.err = w.notify.Close() })
	return w.err
}
