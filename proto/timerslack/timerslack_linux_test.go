package timerslack

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// child is the environment variable that makes this program print the slack of its threads.
const child = "TIMERSLACK_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		report()
		return
	}
	os.Exit(m.Run())
}

// report prints the slack of the thread of the calling goroutine, and of one that was started later.
func report() {
	runtime.LockOSThread()
	first := slack()
	done := make(chan int)
	go func() {
		runtime.LockOSThread()
		done <- slack()
	}()
	fmt.Println(first, <-done)
}

// slack returns the slack of the thread of the calling goroutine, in nanoseconds.
func slack() int {
	n, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		panic(err)
	}
	return n
}

// TestSlack starts processes from threads with the usual slack and with another one. A process inherits the slack of
// the thread that starts it.
func TestSlack(t *testing.T) {
	for _, c := range []struct {
		given int
		want  string
	}{
		{50_000, "1000000 1000000"},
		{70_000, "70000 70000"},
	} {
		done := make(chan string)
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(c.given), 0, 0, 0); err != nil {
				done <- err.Error()
				return
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), child+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				out = fmt.Append(out, err)
			}
			done <- strings.TrimSpace(string(out))
		}()
		if got := <-done; got != c.want {
			t.Errorf("slack of the threads of a process that was started with %d: %s, want %s", c.given, got, c.want)
		}
	}
}
