package clients

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var recordTo = flag.String("record", "", "write the messages of pgjdbc and node-postgres to files of this folder, "+
	"such as ../api/testdata/postgres/messages")

// TestRecordMessages records the messages that clients send. The tests of test/api replay them.
func TestRecordMessages(t *testing.T) {
	if *recordTo == "" {
		t.Skip("without -record, nothing is recorded")
	}
	for name, c := range map[string]struct {
		need    func(*testing.T)
		command []string
	}{
		"pgjdbc": {
			needPGJava,
			[]string{"java", "@" + filepath.Join("postgres", "java", "target", "arguments"), "Record"},
		},
		"node-postgres": {needPGNode, []string{"node", filepath.Join("postgres", "node", "record.mjs")}},
	} {
		t.Run(name, func(t *testing.T) {
			c.need(t)
			s := prepare(t)
			host, _ := hostAndPort(t, s.users)
			s.args = append(s.args, "--pg-addr", host+":5432")
			s.run()
			l, err := net.Listen("tcp", host+":5433")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			sent := make(chan []byte, 1)
			go func() { sent <- proxied(l, host+":5432") }()
			cmd := exec.CommandContext(t.Context(), c.command[0], append(c.command[1:], host, "5433")...)
			cmd.Env = append(os.Environ(), "PGPASSWORD=", "TZ=UTC")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			text := messages(t, <-sent)
			if err := os.WriteFile(filepath.Join(*recordTo, name+".txt"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// proxied passes one connection on, and returns what the client sent.
func proxied(l net.Listener, server string) []byte {
	var sent bytes.Buffer
	client, err := l.Accept()
	if err != nil {
		return nil
	}
	defer client.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return nil
	}
	defer up.Close()
	go func() { _, _ = io.Copy(client, up) }()
	_, _ = io.Copy(io.MultiWriter(up, &sent), client) // ends when the client ends the connection
	return sent.Bytes()
}

// messages returns a line for each message: its type and its body in quotes.
func messages(t *testing.T, sent []byte) string {
	t.Helper()
	var out strings.Builder
	for first := true; len(sent) > 0; first = false {
		kind := "startup"
		if !first {
			kind, sent = string(sent[0]), sent[1:]
		}
		if len(sent) < 4 || int(binary.BigEndian.Uint32(sent)) > len(sent) {
			t.Fatalf("a message was cut: %x", sent)
		}
		n := binary.BigEndian.Uint32(sent)
		fmt.Fprintf(&out, "> %s %+q\n", kind, sent[4:n])
		sent = sent[n:]
	}
	return out.String()
}
