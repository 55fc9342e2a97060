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

// settle is how long a file must be left alone before it is read: editors and copies
// write in several steps.
const settle = 100 * time.Millisecond

// watcher notices when a file changes. It watches the folder, because most programs
// replace a file rather than write into it.
type watcher struct {
	notify *fsnotify.Watcher
	path   string
	last   stamp // of the file when it was read last; used by run only

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

// stamp is what shows that a file has changed.
type stamp struct {
	modified time.Time
	size     int64
}

// read returns the stamp of the file itself, behind any links to it.
func (w *watcher) read() (s stamp) {
	if info, err := os.Stat(w.path); err == nil {
		s = stamp{info.ModTime(), info.Size()}
	}
	return s
}

// run calls changed once after each series of changes, until ctx ends or w is closed.
func (w *watcher) run(ctx context.Context, changed func()) error {
	name := filepath.Base(w.path)
	var due <-chan time.Time
	if w.read() != w.last { // since newWatcher
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
			// A link to the file may change although the file's own name is not mentioned.
			if filepath.Base(e.Name) == name || w.read() != w.last {
				due = time.After(settle)
			}
		case err, running := <-w.notify.Errors:
			if !running {
				return nil
			}
			if err != nil {
				due = time.After(settle) // events may be lost: look
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
