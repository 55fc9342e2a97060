package clients

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// pressLimit is the memory for bodies of a server whose memory is used up.
	pressLimit = 8 << 20
	// pressTime is how long the memory is used up. longestPress is the maximum time until even a slow client is
	// refused.
	pressTime    = 2500 * time.Millisecond
	longestPress = 30 * time.Second
)

// pressUntil takes the server's memory for bodies for pressTime, and then until a condition holds. The server reserves
// the memory that a request announces.
func (s *server) pressUntil(holds func() bool) {
	s.t.Helper()
	conn := s.announce()
	defer func() { _ = conn.Close() }()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	started := time.Now()
	for time.Since(started) < pressTime || !holds() && time.Since(started) < longestPress {
		<-ticker.C
		if _, err := conn.Write([]byte{' '}); err != nil { // the server has closed the connection
			_ = conn.Close()
			conn = s.announce()
		}
	}
}

// press uses up the server's memory for bodies for a time. When requests wait for memory, the server takes back
// memory that is only reserved. So press sends the bodies, too, and other requests wait for a second, again and
// again.
func (s *server) press() {
	s.t.Helper()
	end := time.Now().Add(pressTime)
	var hogs sync.WaitGroup
	for range 2 { // when one leaves, the other is in the queue before the client
		hogs.Go(func() {
			for time.Now().Before(end) {
				s.fill()
			}
		})
	}
	hogs.Wait()
}

// announce sends the header of a request whose body needs all memory, and the first bytes of the body.
func (s *server) announce() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.users)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST /v1/ingest?table=hog&pipeline_name=svc_identity HTTP/1.1\r\nHost: %s\r\n"+
		"Content-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n{", s.users, pressLimit)
	if err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// fill sends nearly all of such a body at once and then a few bytes slowly, but never the last byte.
func (s *server) fill() {
	conn := s.announce()
	defer conn.Close()
	const rest = pressLimit / 8
	piece := strings.Repeat(" ", rest/10)
	for left := pressLimit - rest; left > 0; left -= len(piece) {
		if _, err := conn.Write([]byte(piece)); err != nil {
			return
		}
	}
	for range 9 {
		time.Sleep(100 * time.Millisecond)
		if _, err := conn.Write([]byte(piece)); err != nil {
			return
		}
	}
}

// metric returns the sum of the series of a metric that contain part.
func (s *server) metric(name, part string) (sum float64) {
	s.t.Helper()
	resp, err := http.Get("http://" + s.users + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, name) || !strings.Contains(line, part) {
			continue
		}
		var v float64
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &v); err == nil {
			sum += v
		}
	}
	return sum
}
