package api

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/test/cluster"
)

var updateMessages = flag.Bool("update-messages", false, "update the answers in testdata/postgres/messages")

// TestRecordedMessages sends the messages that pgjdbc and node-postgres sent for each kind of statement, byte for byte,
// and compares the answers. A test in test/clients records the messages.
func TestRecordedMessages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/postgres/messages/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			addr := cluster.FreeAddr(t)
			n := cluster.New(t, "--pg-addr", addr)
			n.Start()
			got := replay(t, addr, string(text))
			if *updateMessages {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// replay sends the client's messages of a recording, which are lines with >, and returns the recording with the
// answers of the server, which are lines with <.
func replay(t *testing.T, addr, recording string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(cluster.Generous(time.Minute))); err != nil {
		t.Fatal(err)
	}
	front := pgproto3.NewFrontend(bufio.NewReader(c), c)
	var out strings.Builder
	for line := range strings.Lines(recording) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(fields) != 3 || fields[0] != ">" {
			continue // an answer
		}
		body, err := strconv.Unquote(fields[2])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out.WriteString(line)
		packet := binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))
		if fields[1] != "startup" {
			packet = append([]byte(fields[1]), packet...)
		}
		if _, err := c.Write(append(packet, body...)); err != nil {
			t.Fatal(err)
		}
		switch fields[1] {
		case "startup", "Q", "S":
			for ready := false; !ready; {
				m, err := front.Receive()
				if err != nil {
					t.Fatalf("after %s: %v", line, err)
				}
				_, ready = m.(*pgproto3.ReadyForQuery)
				fmt.Fprintf(&out, "< %s\n", described(m))
			}
		}
	}
	return out.String()
}

// described describes a message of the server without what differs between servers.
func described(m pgproto3.BackendMessage) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
	switch m := m.(type) {
	case *pgproto3.ParameterStatus:
		if m.Name == "server_version" {
			return name + " server_version"
		}
		return fmt.Sprintf("%s %s=%s", name, m.Name, m.Value)
	case *pgproto3.ParameterDescription:
		return fmt.Sprint(name, " ", m.ParameterOIDs)
	case *pgproto3.RowDescription:
		for _, f := range m.Fields {
			name += fmt.Sprintf(" %s:%d:%d:%d", f.Name, f.DataTypeOID, f.TypeModifier, f.Format)
			if f.TableOID != 0 {
				name += fmt.Sprintf(":column%d", f.TableAttributeNumber)
			}
		}
	case *pgproto3.DataRow:
		for _, v := range m.Values {
			if v == nil {
				name += " null"
			} else {
				name += fmt.Sprintf(" %+q", v)
			}
		}
	case *pgproto3.CommandComplete:
		return fmt.Sprintf("%s %s", name, m.CommandTag)
	case *pgproto3.ReadyForQuery:
		return fmt.Sprintf("%s %c", name, m.TxStatus)
	case *pgproto3.ErrorResponse:
		return fmt.Sprintf("%s %s at %d: %s", name, m.Code, m.Position, m.Message)
	case *pgproto3.NoticeResponse:
		return fmt.Sprintf("%s %s: %s", name, m.Code, m.Message)
	}
	return name
}
