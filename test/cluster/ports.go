package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Ports of servers are below the range that the system assigns to clients, because one of those might be taken while
// its server is down. For the same reason, every process that runs tests has its own block of ports. A lock on a
// file, held until the process ends, protects the block.
const (
	firstPort     = 12_000
	portsInABlock = 1_000
	blocks        = 19
)

// ports is the state of this process's block.
var ports struct {
	sync.Mutex
	lock  *os.File // held until the process ends
	first int
	next  int
	taken map[int]bool
}

// FreeAddr returns an address of this machine that no other test uses until this one ends.
func FreeAddr(t testing.TB) string {
	t.Helper()
	return freeAddr(t)
}

// freeAddr returns a loopback address on which no process listens now, and that no other test uses
// until this one ends.
func freeAddr(t testing.TB) string {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	if ports.lock == nil {
		if err := takeBlock(); err != nil {
			t.Fatal(err)
		}
	}
	for range portsInABlock {
		port := ports.first + ports.next
		ports.next = (ports.next + 1) % portsInABlock
		if ports.taken[port] {
			continue
		}
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue // used by another process
		}
		l.Close()
		ports.taken[port] = true
		t.Cleanup(func() {
			ports.Lock()
			defer ports.Unlock()
			delete(ports.taken, port)
		})
		return addr
	}
	t.Fatalf("all ports from %d to %d are in use", ports.first, ports.first+portsInABlock-1)
	return ""
}

// takeBlock finds a block of ports that no other process has.
func takeBlock() error {
	for i := range blocks {
		name := filepath.Join(os.TempDir(), fmt.Sprintf("cordwood-test-ports-%d.lock", i))
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, os.ErrPermission) { // the file belongs to another user
			continue
		}
		if err != nil {
			return fmt.Errorf("lock a block of ports: %w", err)
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil { //nolint:gosec // a descriptor
			ports.lock, ports.first, ports.taken = f, firstPort+i*portsInABlock, map[int]bool{}
			return nil
		}
		f.Close()
	}
	return fmt.Errorf("find ports for servers: %d other processes run tests, and have all blocks", blocks)
}
