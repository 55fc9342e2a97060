package chaos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Line describes a line for packets from one port of a Switch to another. The zero value takes no
// time and loses nothing.
type Line struct {
	// Delay is the time that a packet takes, plus or minus Jitter. Packets stay in order.
	Delay, Jitter time.Duration
	// Loss is the fraction of packets that are lost, 0 to 1.
	Loss float64
	// Bits is the number of bits a second; 0 means no limit.
	Bits int64
	// Queue is the maximum number of waiting bytes; further packets are dropped. 0 means 256 KiB.
	Queue int64
	// Cut drops all packets.
	Cut bool
}

const (
	switchQueue  = 256 << 10
	switchMTU    = 1500
	packetsAhead = 16384 // per line
)

// Switch carries IP packets between TUN devices, each in a separate network namespace: packets between the namespaces
// go through a Line, as on a wide area network.
type Switch struct {
	ports []*port
	wg    sync.WaitGroup
}

type port struct {
	dev  *os.File
	ip   [4]byte
	to   []*wire // by port; nil for the port itself
	sent []atomic.Int64
}

// wire connects one port to another.
type wire struct {
	mu      sync.Mutex
	line    Line
	free    time.Time // when the last packet will have been sent, at Line.Bits
	last    time.Time // when the last packet arrives; packets do not overtake each other
	waiting int64     // bytes that were not sent yet
	packets chan packet
}

type packet struct {
	data []byte
	at   time.Time
}

// NewSwitch opens an existing TUN device in each namespace, and carries packets to the addresses of
// the others. Close ends it.
func NewSwitch(device string, namespaces []string, addresses [][4]byte) (*Switch, error) {
	s := &Switch{}
	for i, ns := range namespaces {
		dev, err := openTun(ns, device)
		if err != nil {
			for _, p := range s.ports {
				p.dev.Close()
			}
			return nil, fmt.Errorf("open %s in namespace %s: %w", device, ns, err)
		}
		s.ports = append(s.ports, &port{dev: dev, ip: addresses[i], sent: make([]atomic.Int64, len(namespaces))})
	}
	for i, p := range s.ports {
		for j, other := range s.ports {
			if i == j {
				p.to = append(p.to, nil)
				continue
			}
			w := &wire{packets: make(chan packet, packetsAhead)}
			p.to = append(p.to, w)
			s.wg.Go(func() { w.carry(other.dev) })
		}
		s.wg.Go(func() { s.read(p) })
	}
	return s, nil
}

// Close ends the switch. Its devices are then down.
func (s *Switch) Close() {
	for _, p := range s.ports {
		p.dev.Close()
	}
	s.wg.Wait()
}

// Set changes the line from one port to another, in one direction.
func (s *Switch) Set(from, to int, line Line) {
	w := s.ports[from].to[to]
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line, w.free, w.last = line, time.Time{}, time.Time{}
}

// All sets all lines.
func (s *Switch) All(line Line) {
	for i := range s.ports {
		s.Around(i, line)
	}
}

// Around sets the lines from and to a port.
func (s *Switch) Around(at int, line Line) {
	for i := range s.ports {
		if i != at {
			s.Set(at, i, line)
			s.Set(i, at, line)
		}
	}
}

// Sent returns the number of bytes that went from one port to another, except lost ones.
func (s *Switch) Sent(from, to int) int64 { return s.ports[from].sent[to].Load() }

// read reads packets from a port, and sends each to its wire.
func (s *Switch) read(p *port) {
	defer func() {
		for _, w := range p.to {
			if w != nil {
				close(w.packets)
			}
		}
	}()
	random := rand.New(rand.NewPCG(rand.Uint64(), 0)) //nolint:gosec // which packet is lost
	buf := make([]byte, switchMTU)
	for {
		n, err := p.dev.Read(buf)
		if err != nil {
			return // the device was closed
		}
		if n < 20 || buf[0]>>4 != 4 {
			continue // IPv6 packets of the kernel
		}
		to := binary.BigEndian.Uint32(buf[16:20])
		for i, other := range s.ports {
			if other != p && binary.BigEndian.Uint32(other.ip[:]) == to &&
				p.to[i].send(append([]byte(nil), buf[:n]...), random) {
				p.sent[i].Add(int64(n))
			}
		}
	}
}

// send puts a packet on the wire. It returns false if the packet was lost.
func (w *wire) send(data []byte, random *rand.Rand) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, now, size := w.line, time.Now(), int64(len(data))
	limit := l.Queue
	if limit == 0 {
		limit = switchQueue
	}
	if l.Cut || random.Float64() < l.Loss || l.Bits > 0 && w.waiting+size > limit {
		return false
	}
	at := now
	if l.Bits > 0 {
		if at.Before(w.free) {
			at = w.free
		}
		at = at.Add(time.Duration(size * 8 * int64(time.Second) / l.Bits))
		w.free = at
	}
	at = at.Add(l.Delay)
	if l.Jitter > 0 {
		at = at.Add(time.Duration(random.Int64N(2*int64(l.Jitter))) - l.Jitter)
	}
	if at.Before(w.last) {
		at = w.last
	}
	w.last = at
	select {
	case w.packets <- packet{data, at}:
		w.waiting += size
		return true
	default:
		return false
	}
}

// carry delivers the packets of a wire.
func (w *wire) carry(to *os.File) {
	for p := range w.packets {
		if d := time.Until(p.at); d > 0 {
			time.Sleep(d)
		}
		w.mu.Lock()
		w.waiting -= int64(len(p.data))
		cut := w.line.Cut
		w.mu.Unlock()
		if cut {
			continue
		}
		if _, err := to.Write(p.data); errors.Is(err, os.ErrClosed) {
			continue // the other packets are dropped
		}
	}
}

// openTun opens a TUN device in a network namespace. The file can be used from any namespace.
func openTun(namespace, name string) (*os.File, error) {
	type result struct {
		dev *os.File
		err error
	}
	done := make(chan result)
	go func() {
		// The thread is not unlocked, so that it ends with this goroutine: its namespace has changed.
		runtime.LockOSThread()
		dev, err := func() (*os.File, error) {
			ns, err := os.Open("/run/netns/" + namespace)
			if err != nil {
				return nil, err
			}
			defer ns.Close()
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
				return nil, fmt.Errorf("enter the namespace: %w", err)
			}
			fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, fmt.Errorf("open /dev/net/tun: %w", err)
			}
			req, err := unix.NewIfreq(name)
			if err == nil {
				req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
				err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
			}
			if err != nil {
				_ = unix.Close(fd) // nothing was written to it
				return nil, fmt.Errorf("attach to the device: %w", err)
			}
			return os.NewFile(uintptr(fd), name), nil
		}()
		done <- result{dev, err}
	}()
	r := <-done
	return r.dev, r.err
}
