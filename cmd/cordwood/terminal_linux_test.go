package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asProgram is the environment variable that makes the test binary run as the program.
const asProgram = "CORDWOOD_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// terminal is a pseudo terminal on which the program runs.
type terminal struct {
	t    *testing.T
	keys *os.File

	mu   sync.Mutex
	seen bytes.Buffer // all output since the last call of keep
	done chan error
}

// onTerminal runs the program on a terminal of 80 columns and 24 lines, which is closed when the test
// ends.
func onTerminal(t *testing.T, env []string, args ...string) *terminal {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudo terminals here:", err)
	}
	if err := unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudo terminals here:", err)
	}
	defer tty.Close()
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], args...)
	c.Env = append(append(os.Environ(), asProgram+"=1", "TERM=xterm", "HOME="+t.TempDir()), env...)
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, keys: ptmx, done: make(chan error, 1)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := ptmx.Read(buf)
			term.mu.Lock()
			term.seen.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { term.done <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = ptmx.Close()
		<-read
	})
	return term
}

// press sends keys.
func (term *terminal) press(keys string) {
	term.t.Helper()
	if _, err := term.keys.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// interrupt presses Ctrl-C at a prompt. The program prints a prompt before it changes the mode of the terminal: until
// then, the key would be a signal to it.
func (term *terminal) interrupt() {
	term.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		mode, err := unix.IoctlGetTermios(int(term.keys.Fd()), unix.TCGETS)
		if err != nil {
			term.t.Fatal(err)
		}
		if mode.Lflag&unix.ISIG == 0 {
			break
		}
		if time.Now().After(deadline) {
			term.t.Fatal("the terminal does not read single keys")
		}
	}
	term.press("\x03")
}

// wait waits until the text appears on the terminal, and returns the output up to it. The next call
// continues after it.
func (term *terminal) wait(text string) string {
	term.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		term.mu.Lock()
		before, after, found := strings.Cut(term.seen.String(), text)
		if found {
			term.seen.Reset()
			term.seen.WriteString(after)
		}
		term.mu.Unlock()
		if found {
			return before + text
		}
	}
	term.mu.Lock()
	defer term.mu.Unlock()
	term.t.Fatalf("no %q on the terminal:\n%q", text, term.seen.String())
	return ""
}

// end waits until the program exits.
func (term *terminal) end() {
	term.t.Helper()
	select {
	case err := <-term.done:
		if err != nil {
			term.t.Errorf("it ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		term.t.Error("it does not end")
	}
}
