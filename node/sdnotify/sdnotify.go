// Package sdnotify reports the state of the process to systemd: that it is ready, what it does,
// that it is alive, and that it stops. Without systemd all functions do nothing.
//
// The protocol is a datagram with lines NAME=VALUE to the socket in the environment variable
// NOTIFY_SOCKET.
package sdnotify

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Notifier is the connection to systemd. A nil Notifier may be used and does nothing. Its methods are safe for
// concurrent use. They do not block for long, and return no errors, because a process could do nothing about them.
type Notifier struct {
	conn *net.UnixConn
	stop chan struct{}
	done chan struct{} // closed when no watchdog messages are sent any more
	once sync.Once

	mu   sync.Mutex // guards said
	said string     // the last status that was sent
}

// writeTimeout is the time limit of one message. systemd may be busy and its queue full.
const writeTimeout = time.Second

// Open connects to the socket in the environment, and starts to send watchdog messages if systemd expects them. It
// returns nil without an error if there is no socket. It removes the variables from the environment, since they are
// not meant for child processes.
func Open() (*Notifier, error) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil, nil
	}
	every, err := watchdog(os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID"), os.Getpid())
	for _, v := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(v) // it fails only for invalid names
	}
	if err != nil {
		return nil, err
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("connect to systemd by NOTIFY_SOCKET: %w", err)
	}
	n := &Notifier{conn: conn, stop: make(chan struct{}), done: make(chan struct{})}
	if every == 0 {
		close(n.done)
		return n, nil
	}
	go n.live(every)
	return n, nil
}

// watchdog returns the interval of watchdog messages: half of the time after which systemd ends the process. It
// returns 0 if no watchdog is set, or if it is for another process.
func watchdog(usec, pid string, self int) (time.Duration, error) {
	if usec == "" || pid != "" && pid != strconv.Itoa(self) {
		return 0, nil
	}
	n, err := strconv.ParseInt(usec, 10, 63)
	if err != nil || n <= 0 || n > int64(24*time.Hour/time.Microsecond) {
		return 0, fmt.Errorf("WATCHDOG_USEC=%q: want a positive number of microseconds, at most a day", usec)
	}
	return time.Duration(n) * time.Microsecond / 2, nil
}

// live sends watchdog messages. They only mean that the process is scheduled and not stopped, since a restart does
// not help against other faults.
func (n *Notifier) live(every time.Duration) {
	defer close(n.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		n.send("WATCHDOG=1")
		select {
		case <-n.stop:
			return
		case <-tick.C:
		}
	}
}

// Ready reports that the service has started. It may be called again.
func (n *Notifier) Ready() { n.send("READY=1") }

// Stopping reports that the service stops.
func (n *Notifier) Stopping() { n.send("STOPPING=1") }

// Status sets the status line of `systemctl status`.
func (n *Notifier) Status(text string) {
	if n == nil {
		return
	}
	text = strings.Join(strings.Fields(text), " ")
	n.mu.Lock()
	same := n.said == text
	n.said = text
	n.mu.Unlock()
	if !same {
		n.send("STATUS=" + text)
	}
}

func (n *Notifier) send(text string) {
	if n == nil {
		return
	}
	if n.conn.SetWriteDeadline(time.Now().Add(writeTimeout)) == nil {
		_, _ = n.conn.Write([]byte(text))
	}
}

// Close ends the watchdog messages and the connection.
func (n *Notifier) Close() {
	if n == nil {
		return
	}
	n.once.Do(func() {
		close(n.stop)
		<-n.done
		_ = n.conn.Close() // nothing is buffered
	})
}
