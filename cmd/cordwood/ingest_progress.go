package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	// progressAfter is how long a command runs before it shows how far it is.
	progressAfter = 2 * time.Second
	progressEvery = 200 * time.Millisecond
)

// progress counts the bytes that were read and, on a terminal, shows them once it takes
// longer than a moment.
type progress struct {
	out      io.Writer
	terminal bool
	total    int64 // -1 if it is not known
	read     atomic.Int64

	quit chan struct{} // closed by stop
	done chan struct{} // closed when the display has ended

	mu  sync.Mutex // guards bar, and keeps notes and the bar apart
	bar *progressbar.ProgressBar
}

func newProgress(out io.Writer, total int64) *progress {
	f, isFile := out.(*os.File)
	return &progress{
		out: out, total: total, terminal: isFile && term.IsTerminal(int(f.Fd())),
		quit: make(chan struct{}), done: make(chan struct{}),
	}
}

// start starts the display; stop must be called.
func (p *progress) start() {
	if !p.terminal {
		close(p.done)
		return
	}
	go p.show()
}

func (p *progress) show() {
	defer close(p.done)
	select {
	case <-time.After(progressAfter):
	case <-p.quit:
		return
	}
	p.mu.Lock()
	p.bar = progressbar.NewOptions64(p.total, progressbar.OptionSetWriter(p.out), progressbar.OptionShowBytes(true),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription("sending"), progressbar.OptionFullWidth())
	p.mu.Unlock()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		p.mu.Lock()
		_ = p.bar.Set64(p.position())
		p.mu.Unlock()
		select {
		case <-tick.C:
		case <-p.quit:
			p.mu.Lock()
			_ = p.bar.Clear()
			p.bar = nil
			p.mu.Unlock()
			return
		}
	}
}

// position is what the bar shows: never more than its end, for a file may grow.
func (p *progress) position() int64 {
	n := p.read.Load()
	if p.total >= 0 {
		n = min(n, p.total)
	}
	return n
}

// stop ends the display and clears it.
func (p *progress) stop() {
	close(p.quit)
	<-p.done
}

// note prints a line that a person at a terminal should see.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.out, text)
}

// count returns a reader that counts what is read from r.
func (p *progress) count(r io.Reader) io.Reader { return countingReader{r, &p.read} }

type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}
