package sql

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-runewidth"
)

// screen is the terminal of a prompt.
type screen struct {
	out io.Writer
	// size returns the width and height, or 0 if they are not known.
	size func() (width, height int)
	// pager determines whether long output goes through a pager.
	pager pagerMode
	// start starts a pager and returns its input, whose Close waits for the pager's end.
	start func() (io.WriteCloser, error)
	// now is the clock. reading is the time that the user has spent in pagers after all output was
	// printed.
	now     func() time.Time
	reading time.Duration
}

// pagerMode is the setting \pset pager.
type pagerMode int

const (
	pagerOn pagerMode = iota
	pagerOff
	pagerAlways
)

// pagerCommand returns the pager to use, for a shell; empty if there is none.
func pagerCommand() string {
	if command, set := os.LookupEnv("PAGER"); set {
		return strings.TrimSpace(command)
	}
	for _, command := range []string{"less", "more"} {
		if _, err := exec.LookPath(command); err == nil {
			return command
		}
	}
	return ""
}

// startPager runs the pager on the terminal.
func startPager() (io.WriteCloser, error) {
	command := pagerCommand()
	if command == "" {
		return nil, errors.New("there is no pager")
	}
	c := exec.Command("/bin/sh", "-c", command)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	// Long lines are cut at the edge of the screen: the arrow keys show the rest.
	c.Env = append(os.Environ(), "LESS="+cmp.Or(os.Getenv("LESS"), "FRSX"))
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &pagerInput{in, c}, nil
}

// pagerInput is the input of a running pager.
type pagerInput struct {
	io.WriteCloser
	c *exec.Cmd
}

func (p *pagerInput) Close() error {
	_ = p.WriteCloser.Close() // the pager may have ended
	return p.c.Wait()
}

// page returns a writer for the output of one statement. Close must be called: output that fits on
// the screen is printed only then, or after a moment, and longer output goes through the pager.
func (s *screen) page() *page { return &page{s: s} }

// page is the output of one statement.
type page struct {
	s     *screen
	held  bytes.Buffer // output that may still go to a pager
	lines int          // lines of the screen that held needs
	out   io.Writer    // the destination of all output, after it is decided
	pager io.WriteCloser
	gone  bool // the user has left the pager
}

// maxHeld is the maximum size of the held output: no screen has more room.
const maxHeld = 1 << 20

// Write discards the output after the user has left the pager.
func (p *page) Write(b []byte) (int, error) {
	if p.out == nil {
		p.held.Write(b)
		width, height := p.s.size()
		if p.s.pager == pagerOff || width <= 0 || height <= 0 {
			p.decide(false)
			return len(b), nil
		}
		for line := range bytes.Lines(b) {
			p.lines += max(1, (runewidth.StringWidth(string(line))+width-1)/width)
		}
		if p.s.pager == pagerAlways || p.lines >= height-1 || p.held.Len() > maxHeld {
			p.decide(true)
		}
		return len(b), nil
	}
	if p.gone {
		return len(b), errPagerLeft
	}
	n, err := p.out.Write(b)
	if p.pager != nil && errors.Is(err, syscall.EPIPE) {
		p.gone, err = true, errPagerLeft
	}
	return n, err
}

// errPagerLeft ends the output of a statement after the user has left the pager.
var errPagerLeft = errors.New("the user closed the pager")

// decide sends the held output, and all later output, to the pager or to the terminal.
func (p *page) decide(long bool) {
	p.out = p.s.out
	if long {
		if pager, err := p.s.start(); err == nil {
			p.out, p.pager = pager, pager
		}
	}
	if _, err := p.out.Write(p.held.Bytes()); p.pager != nil && errors.Is(err, syscall.EPIPE) {
		p.gone = true
	}
	p.held = bytes.Buffer{}
}

// Close prints the rest, and waits until the user leaves the pager.
func (p *page) Close() {
	if p.out == nil {
		p.decide(false)
	}
	if p.pager != nil {
		from := p.s.now()
		_ = p.pager.Close() // the exit status of a pager does not matter
		p.s.reading += p.s.now().Sub(from)
	}
}

// clock formats the time that \watch prints.
func clock(t time.Time) string { return t.Format("2006-01-02 15:04:05 MST") }
