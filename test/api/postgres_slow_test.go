package api

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/test/cluster"
)

// memoryOf returns the memory of a process and of the processes that it started.
func memoryOf(t *testing.T, pid int) (bytes int64) {
	t.Helper()
	pids := []string{strconv.Itoa(pid)}
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(children) == 0 {
		t.Skip("this system does not list the children of a process")
	}
	for _, file := range children {
		text, _ := os.ReadFile(file) // a thread that has ended has no children
		pids = append(pids, strings.Fields(string(text))...)
	}
	for _, p := range pids {
		text, _ := os.ReadFile("/proc/" + p + "/statm")
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			bytes += pages * int64(os.Getpagesize())
		}
	}
	return bytes
}

// TestMemoryOfSlowReaders checks how much memory the server and its query process use for clients that ask for many
// long rows, and then read none.
func TestMemoryOfSlowReaders(t *testing.T) {
	t.Parallel()
	const readers, perReader = 8, 32 << 20
	addr := cluster.FreeAddr(t)
	n := cluster.New(t, "--pg-addr", addr)
	n.Start()
	n.Rows(t, "SELECT 1") // starts the query process
	before := memoryOf(t, n.Pid())
	for range readers {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(cluster.Generous(time.Minute))); err != nil {
			t.Fatal(err)
		}
		front := pgproto3.NewFrontend(c, c)
		front.Send(&pgproto3.StartupMessage{
			ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": "svc"},
		})
		front.Send(&pgproto3.Query{String: "SELECT i, repeat('x', 1000) FROM range(20000000) AS t(i)"})
		if err := front.Flush(); err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 0, 4<<10)
		for !bytes.Contains(head, []byte("xxxx")) { // the first row
			part := make([]byte, 512)
			k, err := c.Read(part)
			if err != nil {
				t.Fatal(err)
			}
			head = append(head, part[:k]...)
		}
	}
	most, same := int64(0), 0
	for deadline := time.Now().Add(cluster.Generous(20 * time.Second)); same < 20 && time.Now().Before(deadline); {
		if now := memoryOf(t, n.Pid()); now > most+1<<20 {
			most, same = now, 0
		}
		same++
		time.Sleep(50 * time.Millisecond) // until the buffers are full
	}
	if grown := most - before; grown > readers*perReader {
		t.Errorf("%d clients that do not read take %d MiB, more than %d MiB each", readers, grown>>20, perReader>>20)
	}
}
