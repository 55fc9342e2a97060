package ingest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"cordwood/cmd/cordwood/cli"
)

// progress counts the bytes that were read and, on a terminal, shows the progress after a moment.
type progress struct {
	out      io.Writer
	terminal bool
	total    int64 // -1 if it is not known
	read     atomic.Int64

	quit chan struct{} // closed by stop
	done chan struct{} // closed when the display has ended

	mu      sync.Mutex // guards the fields below, and the terminal
	began   time.Time
	shown   bool // whether a line is on the terminal
	file    string
	rows    int64
	columns func() int // the width of the terminal
}

func newProgress(out io.Writer, total int64) *progress {
	f, isFile := out.(*os.File)
	return &progress{
		out: out, total: total, terminal: isFile && term.IsTerminal(int(f.Fd())),
		quit: make(chan struct{}), done: make(chan struct{}), began: time.Now(),
		columns: func() int {
			if !isFile {
				return 0
			}
			width, _ := cli.TerminalSize(f)
			return width
		},
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
	case <-time.After(cli.ProgressAfter):
	case <-p.quit:
		return
	}
	tick := time.NewTicker(cli.ProgressEvery)
	defer tick.Stop()
	for {
		p.mu.Lock()
		fmt.Fprint(p.out, clearLine+runewidth.Truncate(p.line(time.Since(p.began)), max(p.columns()-1, 20), "…"))
		p.shown = true
		p.mu.Unlock()
		select {
		case <-tick.C:
		case <-p.quit:
			p.mu.Lock()
			p.clear()
			p.mu.Unlock()
			return
		}
	}
}

// clearLine goes to the beginning of a line and clears it.
const clearLine = "\r\x1b[K"

// clear removes the line from the terminal.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, clearLine)
		p.shown = false
	}
}

// sent records that a batch of a file with the given number of rows was stored.
func (p *progress) sent(file string, rows int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.file = file
	p.rows += rows
}

// line returns the progress line: the position, and the average speed.
func (p *progress) line(after time.Duration) string {
	n := p.position()
	seconds := max(after.Seconds(), 1)
	var b strings.Builder
	if p.file != "" {
		fmt.Fprintf(&b, "%s  ", filepath.Base(cli.Printable(p.file)))
	}
	if p.total > 0 {
		fmt.Fprintf(&b, "%d %%  %s of %s", 100*n/p.total, cli.FormatSize(n), cli.FormatSize(p.total))
	} else {
		b.WriteString(cli.FormatSize(n))
	}
	fmt.Fprintf(&b, ", %s, %s/s, %.0f rows/s", cli.Count(p.rows, "row"), cli.FormatSize(int64(float64(n)/seconds)),
		float64(p.rows)/seconds)
	if p.total > n && n > 0 {
		left := time.Duration(float64(after) * float64(p.total-n) / float64(n))
		fmt.Fprintf(&b, ", %v left", left.Round(time.Second))
	}
	return b.String()
}

// position returns the number of bytes read. It is at most the size of the input at the start, because a file may grow.
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

// note prints a message for a user at a terminal.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.out, text)
}

// count returns a reader that counts the bytes read from r.
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
