package clients

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// blockTime is how long writes fail. It is longer than a leader takes to notice that it has lost its majority.
const blockTime = 6 * time.Second

// group starts three nodes. Each write needs two of them. Clients send to the first node.
func group(t *testing.T) (first *server, others []*server) {
	t.Helper()
	first = prepare(t)
	nodes := []*server{first, prepare(t), prepare(t)}
	secret := filepath.Join(t.TempDir(), "secret")
	if out, err := exec.Command(first.bin, "new-secret", secret).CombinedOutput(); err != nil {
		t.Fatalf("new-secret: %v\n%s", err, out)
	}
	var seeds []string
	for _, s := range nodes {
		seeds = append(seeds, s.rpc)
	}
	for i, s := range nodes {
		s.args = append(s.args, "--node-name", fmt.Sprintf("node%d", i+1), "--cluster-secret-file", secret,
			"--seeds", strings.Join(seeds, ","), "--meta-bootstrap-expect", "3", "--replication", "3")
	}
	var started sync.WaitGroup
	for _, s := range nodes {
		started.Go(s.run)
	}
	started.Wait()
	return first, nodes[1:]
}

// blocked stops two of three nodes in the middle of the delivery, so that writes fail, and resumes them later.
// Meanwhile, requests of clients wait or are refused. The outcome of a refused write is unknown, because without a
// majority it may have been stored.
func (c *client) blocked(t *testing.T) {
	s, others := group(t)
	done := c.begin(s)
	for _, o := range others {
		if err := o.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(blockTime)
	for _, o := range others {
		if err := o.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !c.socket && s.metric("cordwood_http_requests_total", `code="503"`)+
		s.metric("cordwood_http_requests_total", `code="504"`) == 0 {
		t.Log("nothing was refused: requests waited")
	}
	c.check(s, c.doubles, 0)
}
