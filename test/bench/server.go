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

// server is a cordwood process that this program started.
type server struct {
	cmd   *exec.Cmd
	dir   string
	url   string
	admin string // URL of the administrator's port
	stop  <-chan os.Signal
	done  chan error
	log   bytes.Buffer
}

// errStopped is the error of a run that the user interrupted.
var errStopped = errors.New("stopped")

// start starts a server on dir.
func (b *bench) start(dir string, addrs []string, more ...string) (*server, error) {
	s := &server{dir: dir, url: "http://" + addrs[0], admin: "http://" + addrs[2], stop: b.stop, done: make(chan error, 1)}
	args := append([]string{
		"serve", "--data-dir", filepath.Join(dir, "data"), "--http-addr", addrs[0], "--rpc-addr",
		addrs[1], "--admin-addr", addrs[2], "--log-level", "warn",
	}, more...)
	s.cmd = exec.Command(b.bin, append(args, strings.Fields(b.serveFlags)...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.done <- s.cmd.Wait() }()
	return s, nil
}

// await waits until the server is ready.
func (s *server) await() error {
	for end := time.Now().Add(30 * time.Second); ; {
		resp, err := http.Get(s.url + "/ready")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-s.done:
			s.done <- err
			return s.ended(err)
		case <-s.stop:
			return errStopped
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			return fmt.Errorf("the server is not ready after 30 s")
		}
	}
}

// ended returns the error of a server that ended by itself.
func (s *server) ended(err error) error {
	return fmt.Errorf("the server ended by itself (%w): %s", cmp.Or(err, errors.New("exit status 0")), s.log.String())
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

// close stops the server as an operator would.
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
		err := s.cmd.Process.Signal(syscall.SIGQUIT) // prints the stacks of its goroutines
		return errors.Join(fmt.Errorf("the server does not stop after 60 s: %w: %s",
			cmp.Or(<-s.done, errors.New("exit status 0")), s.log.String()), err)
	}
}

// profile takes a CPU profile of the next seconds into a file. The returned function waits for it.
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
