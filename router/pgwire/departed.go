package pgwire

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// checkDeparted is how often the socket of a client is checked that has sent more than the buffer for its messages
// holds.
const checkDeparted = time.Second

// departed reports whether the client has ended its side of a connection. Unlike a read, it finds this out although
// data from before was not read. It returns false if the connection is not a socket.
func departed(nc net.Conn) bool {
	if wrapped, ok := nc.(interface{ TCPConn() (*net.TCPConn, bool) }); ok { // behind a proxy
		if tcp, ok := wrapped.TCPConn(); ok {
			nc = tcp
		}
	}
	socket, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	err = raw.Control(func(fd uintptr) {
		state := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // file descriptors are small
		n, err := unix.Poll(state, 0)
		ended = err == nil && n > 0
	})
	return ended || err != nil
}
