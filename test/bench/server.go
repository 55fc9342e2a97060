package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// server is a cordwood that this program started.
type server struct {
	cmd   *exec.Cmd
	dir   string
	url   string
	admin string // URL of the port of the administrator
	stop  <-chan os.Signal
	done  chan error
	log   bytes.Buffer
}

// errStopped is what a break of the user ends a run with.
var errStopped = errors.New("stopped")

// start starts a server on dir and waits until it is ready.
func (b *bench) start(dir string) (*server, error) {
	addrs, err := freeAddrs(3)
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, url: "http://" + addrs[0], admin: "http://" + addrs[2], stop: b.stop, done: make(chan error, 1)}
	args := append([]string{"serve", "--data-dir", filepath.Join(dir, "data"), "--http-addr", addrs[0], "--rpc-addr", addrs[1], "--admin-addr", addrs[2], "--log-level", "warn"}, strings.Fields(b.serveFlags)...)
	s.cmd = exec.Command(b.bin, args...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.done <- s.cmd.Wait() }()
	for end := time.Now().Add(30 * time.Second); ; {
		resp, err := http.Get(s.url + "/ready")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s, nil
			}
		}
		select {
		case err := <-s.done:
			return nil, fmt.Errorf("the server ended at its start (%w): %s", cmp.Or(err, errors.New("exit status 0")), s.log.String())
		case <-s.stop:
			return nil, errors.Join(errStopped, s.close())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("the server is not ready after 30 s"), s.close())
		}
	}
}

func freeAddrs(n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		out[i] = l.Addr().String()
	}
	return out, nil
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// close ends the server as an operator would.
func (s *server) close() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	select {
	case err := <-s.done:
		if err != nil {
			return fmt.Errorf("the server ended with %w: %s", err, s.log.String())
		}
		return nil
	case <-time.After(60 * time.Second):
		return errors.Join(fmt.Errorf("the server does not stop after 60 s"), s.cmd.Process.Kill())
	}
}

// profile takes a CPU profile of the next seconds into a file; the function that it
// returns waits for it.
func (s *server) profile(file string) (wait func() error) {
	done := make(chan error, 1)
	go func() {
		done <- func() error {
			resp, err := http.Get(s.admin + "/debug/pprof/profile?seconds=10")
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err == nil && resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("profile: %s: %s", resp.Status, text)
			}
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			return os.WriteFile(file, text, 0o644)
		}()
	}()
	return func() error { return <-done }
}

func (s *server) upload(name string, text []byte) error {
	resp, err := http.Post(s.url+"/v1/pipelines/"+name, "application/x-yaml", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("upload pipeline %s: %s: %s", name, resp.Status, answer)
	}
	return err
}

// settle waits at least so long, then until the server used less than 4 % of a core
// for two seconds on end, and completes the result.
func (s *server) settle(least time.Duration, r *result) error {
	begin := time.Now()
	last, err := readUse(s.pid())
	for quiet := 0; err == nil && (quiet < 2 || time.Since(begin) < least) && time.Since(begin) < 5*time.Minute; {
		select {
		case <-s.stop:
			return errStopped
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("the server ended by itself (%w): %s", cmp.Or(err, errors.New("exit status 0")), s.log.String())
		case <-time.After(time.Second):
		}
		var u use
		if u, err = readUse(s.pid()); u.cpu-last.cpu <= 40*time.Millisecond {
			quiet++
		} else {
			quiet = 0
		}
		last = u
	}
	if err != nil {
		return err
	}
	r.cpu, r.peakRSS, r.written = last.cpu-r.before.cpu, last.peakRSS, last.written-r.before.written
	r.disk, err = diskUse(filepath.Join(s.dir, "data"))
	return err
}
