// Package buckettest starts an independent S3 server for tests, and a proxy before it that injects faults.
package buckettest

import (
	"context"
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
	bin, root := gateway(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o750); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(bin, "--access", AccessKey, "--secret", SecretKey, "--port", addr, "--quiet", "posix", root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Skipf("start versitygw: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		t.Logf("the server ended: %v", <-ended)
	})
	for deadline := time.Now().Add(20 * time.Second); ; {
		resp, err := http.Get("http://" + addr + "/")
		if err == nil {
			resp.Body.Close()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Skipf("versitygw does not run here (its folder needs extended attributes): %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("versitygw does not answer: %v", err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey)
	return "http://" + addr, "bucket"
}
