// Package buckettest starts an independent S3 server for tests, and a proxy before it that injects faults.
package buckettest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// gatewayModule is an S3 server on the module proxy. It is not in go.mod.
const gatewayModule = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// gateway returns the path of the server's program: $VERSITYGW_BIN, or a program that it installs into the cache of
// this user. If neither is possible, for example without the module proxy, it skips the test.
func gateway(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("VERSITYGW_BIN"); bin != "" {
		return bin
	}
	if testing.Short() {
		t.Skip("building versitygw takes minutes; set VERSITYGW_BIN")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no folder to install versitygw: %v", err)
	}
	dir := filepath.Join(cache, "cordwood-test", "versitygw-v1.8.0")
	bin := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "go", "install", gatewayModule)
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=mod")
	install.Dir = t.TempDir() // outside of any module
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("versitygw cannot be installed: %v: %s", err, out)
	}
	return bin
}

// The credentials of the server.
const (
	AccessKey = "test"
	SecretKey = "canary-secret"
)

// Serve starts an S3 server with an empty bucket for the duration of the test, and puts its
// credentials into the environment. It skips the test if no such server can run.
func Serve(t *testing.T) (endpoint, bucket string) {
	t.Helper()
	s := NewServer(t)
	return s.Endpoint, s.Bucket
}

// Server is an S3 server with one bucket, which can be killed and started again. Its methods must not be called at the
// same time.
type Server struct {
	// Endpoint is its URL.
	Endpoint string
	// Bucket is the name of the bucket.
	Bucket string

	bin, root, addr string
	cmd             *exec.Cmd
	ended           chan error // has how the process ended
}

// NewServer does what Serve does, and returns the server.
func NewServer(t *testing.T) *Server {
	t.Helper()
	s := &Server{Bucket: "bucket", bin: gateway(t), root: t.TempDir()}
	if err := os.Mkdir(filepath.Join(s.root, s.Bucket), 0o750); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	s.Endpoint = "http://" + s.addr
	l.Close()
	if err := s.Start(); err != nil {
		t.Skipf("versitygw does not run here (its folder needs extended attributes): %v", err)
	}
	t.Cleanup(func() { t.Logf("the server ended: %v", s.Kill()) })
	t.Setenv("AWS_ACCESS_KEY_ID", AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey)
	return s
}

// Start starts the process with the objects that it had before, and waits until it answers.
func (s *Server) Start() error {
	s.cmd = exec.Command(s.bin, "--access", AccessKey, "--secret", SecretKey, "--port", s.addr, "--quiet", "posix", s.root)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }(s.cmd, s.ended)
	for deadline := time.Now().Add(20 * time.Second); ; {
		resp, err := http.Get(s.Endpoint + "/")
		if err == nil {
			resp.Body.Close()
			return nil
		}
		select {
		case end := <-s.ended:
			s.ended <- end
			return fmt.Errorf("the process ended: %w", errors.Join(end, err))
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the process does not answer: %w", errors.Join(s.Kill(), err))
		}
	}
}

// Kill ends the process by SIGKILL, and returns how it ended.
func (s *Server) Kill() error {
	_ = s.cmd.Process.Kill() // it may have ended already
	end := <-s.ended
	s.ended <- end
	return end
}
