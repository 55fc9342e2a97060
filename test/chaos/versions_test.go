package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/proto/metapb"
	"cordwood/test/cluster"
)

// older returns an older version of the program: $CORDWOOD_OLD_BIN, or one built from the commit
// $CORDWOOD_OLD_REV, by default the previous commit.
func older(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("CORDWOOD_OLD_BIN"); bin != "" {
		return bin
	}
	rev := os.Getenv("CORDWOOD_OLD_REV")
	if rev == "" {
		rev = "HEAD~1"
	}
	return build(t, repository(t), rev)
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Skipf("there is no repository with another version: %v", err)
	}
	return strings.TrimSpace(string(root))
}

// build builds the program of a commit of the repository.
func build(t *testing.T, at, rev string) string {
	t.Helper()
	if err := exec.Command("git", "-C", at, "rev-parse", "--verify", rev+"^{commit}").Run(); err != nil {
		t.Skipf("the repository has no commit %s, as a shallow clone: git fetch --deepen=1, or set CORDWOOD_OLD_BIN", rev)
	}
	dir := t.TempDir()
	// A git worktree would stay registered in the repository.
	archive := filepath.Join(dir, "source.tar")
	source := filepath.Join(dir, "source")
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "cordwood")
	for _, args := range [][]string{
		{"git", "-C", at, "archive", "-o", archive, rev},
		{"tar", "-xf", archive, "-C", source},
		// This is the command in the Makefile, so unchanged packages come from the build cache.
		{"go", "build", "-C", source, "-trimpath", "-ldflags", "-s -w", "-o", bin, "./cmd/cordwood"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	t.Logf("the other version is %s", rev)
	return bin
}

// TestRollingUpgrade runs a cluster of nodes of two versions, and upgrades one node after another
// while rows are written, with a downgrade in between.
func TestRollingUpgrade(t *testing.T) {
	together(t)
	upgrade(t, older(t))
}

// TestUpgradeOfProtocol is TestRollingUpgrade with the last commit that has the previous protocol version. Messages
// that are new in this version must not be sent until all nodes support them.
func TestUpgradeOfProtocol(t *testing.T) {
	if !long() {
		t.Skip("it builds an old version: CORDWOOD_CHAOS=1")
	}
	together(t)
	at := repository(t)
	began, err := exec.Command("git", "-C", at, "log", "--format=%H", "-S",
		fmt.Sprint("MaxProtocol = ", metapb.MaxProtocol), "--", "proto/metapb/version.go").Output()
	commits := strings.Fields(string(began))
	if err != nil || len(commits) == 0 {
		t.Skipf("the history does not go back to where protocol version %d began (%v): git fetch --unshallow",
			metapb.MaxProtocol, err)
	}
	upgrade(t, build(t, at, commits[len(commits)-1]+"~1"))
}

func upgrade(t *testing.T, old string) {
	t.Helper()
	now := cluster.Binary(t)
	c := cluster.NewCluster(t, cluster.Spec{All: 3})
	for _, n := range c.Nodes {
		n.Use(old)
	}
	c.Start()
	l := Start(Options{Routers: c.Routers, Keyed: 4, Again: 2, Once: 2})
	l.Warm(t)
	change := func(n *cluster.Node, bin, what string) {
		t.Helper()
		l.Fault("%s of %s", what, n.Name)
		n.Stop()
		n.Use(bin)
		n.Start()
		l.AwaitAcked(t, 500)
	}
	change(c.Nodes[0], now, "upgrade")
	change(c.Nodes[1], now, "upgrade")
	change(c.Nodes[0], old, "step back")
	for _, n := range c.Nodes { // nodes of both versions, each of which leads once
		l.Fault("restart of %s", n.Name)
		n.Stop()
		n.Start()
		l.AwaitAcked(t, 500)
	}
	change(c.Nodes[2], now, "upgrade")
	change(c.Nodes[0], now, "upgrade")
	end(t, c, l, 3)
	l.Report(t, 0, 0)
}
