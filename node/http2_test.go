package node

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// openHTTP2 opens a port for HTTP/2 without TLS.
func openHTTP2(t *testing.T, h http.HandlerFunc) *httpServer {
	t.Helper()
	s, err := userPort{addr: "127.0.0.1:0", http2: true, before: h}.open(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHTTP2Bounds checks that a connection without TLS receives the limits of concurrent calls and buffered bytes.
func TestHTTP2Bounds(t *testing.T) {
	s := openHTTP2(t, func(http.ResponseWriter, *http.Request) {})
	t.Cleanup(func() { _ = s.close(t.Context()) })
	conn, err := net.Dial("tcp", s.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := framer.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	settings, ok := frame.(*http2.SettingsFrame)
	if !ok {
		t.Fatalf("the first frame is %v", frame)
	}
	for id, want := range map[http2.SettingID]uint32{
		http2.SettingMaxConcurrentStreams: http2Streams, http2.SettingInitialWindowSize: http2Buffer,
	} {
		if got, ok := settings.Value(id); !ok || got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}

// TestHTTP2Stop checks that a running call is answered when the port closes, and that the connection accepts no other
// call.
func TestHTTP2Stop(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := openHTTP2(t, func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-goOn
		_, _ = io.WriteString(w, "whole")
	})
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	defer client.CloseIdleConnections()
	answer := make(chan string, 1)
	go func() {
		resp, err := client.Post("http://"+s.addr.String(), "application/grpc", strings.NewReader("x"))
		if err != nil {
			answer <- err.Error()
			return
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		answer <- resp.Proto + " " + string(text)
	}()
	<-begun
	closed := make(chan error, 1)
	go func() { closed <- s.close(t.Context()) }()
	// The port closes before its calls have ended.
	for {
		conn, err := net.Dial("tcp", s.addr.String())
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(goOn)
	if got := <-answer; got != "HTTP/2.0 whole" {
		t.Errorf("answer %q", got)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
