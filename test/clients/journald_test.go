package clients

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The programs of Debian's package systemd-journal-remote.
const (
	journalRemote = "/lib/systemd/systemd-journal-remote"
	journalUpload = "/lib/systemd/systemd-journal-upload"
)

// journal makes a journal file with an entry for each mark, and returns its name.
func journal(t *testing.T, entries int) string {
	t.Helper()
	for _, program := range []string{journalRemote, journalUpload} {
		if _, err := os.Stat(program); err != nil {
			t.Skipf("systemd-journal-remote is not installed: %v", err)
		}
	}
	const id = "244db8534d604ed19cec810eca75a70f"
	var b strings.Builder
	for mark := range entries {
		message := fmt.Sprintf("a record mark=%d\nof two lines, and bytes \xff", mark)
		fmt.Fprintf(&b, "__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n_MACHINE_ID=%s\n_HOSTNAME=web-1\n"+
			"SYSLOG_IDENTIFIER=shop\nPRIORITY=6\n_PID=7\n_UID=0\n_TRANSPORT=journal\nMARK=%d\nMESSAGE\n%s%s\n\n",
			1_764_200_000_000_000+mark, mark+1, id, id, mark,
			binary.LittleEndian.AppendUint64(nil, uint64(len(message))), message)
	}
	dir := t.TempDir()
	exported, file := filepath.Join(dir, "exported"), filepath.Join(dir, "shop.journal")
	write(t, exported, b.String())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, journalRemote, "-o", file, exported).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", journalRemote, err, out)
	}
	return file
}

// TestJournald sends a journal with systemd-journal-upload. While the server is down, the client fails and is
// restarted with its stored cursor, as systemd does. After that, a client without a stored cursor sends everything
// again.
func TestJournald(t *testing.T) {
	const entries = 20_000
	file := journal(t, entries)
	s := start(t)
	state := filepath.Join(t.TempDir(), "state")
	upload := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, journalUpload, "--follow=no", "--url=http://"+s.users+"/v1/journald",
			"--file="+file, "--save-state="+state).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	}
	done := make(chan int)
	go func() {
		failures := 0
		for upload() != nil && failures < 100 && t.Context().Err() == nil {
			failures++
			<-time.After(100 * time.Millisecond) // like RestartSec=
		}
		done <- failures
	}()
	s.await("SELECT count(*) >= 2000 FROM journald", "true")
	s.end(syscall.SIGKILL)
	s.run()
	failures := <-done
	t.Logf("the client failed %d times", failures)
	check := func() {
		t.Helper()
		s.await("SELECT count(*), count(DISTINCT fields->>'MARK'), count(DISTINCT \"cursor\"), min(priority), "+
			"min(hostname) FROM journald", fmt.Sprint(entries), fmt.Sprint(entries), fmt.Sprint(entries), "6", "web-1")
	}
	check()
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	if err := upload(); err != nil {
		t.Error(err)
	}
	check()
}
