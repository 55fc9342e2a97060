package pgwire

import (
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestSlowReader checks that a client that does not read its rows takes little memory, and that it is disconnected in
// time.
func TestSlowReader(t *testing.T) {
	f := start(t, func(c *Config) { c.StallTime = 500 * time.Millisecond })
	r := f.raw(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r.send(t, &pgproto3.Query{String: "SELECT -1"})
	if _, err := io.CopyN(io.Discard, r, 64<<10); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return f.count() == 0 && f.service.open.Load() == 0 })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("%d bytes are held", grown)
	}
}

// TestMalformed checks that only invalid messages end a connection.
func TestMalformed(t *testing.T) {
	f := start(t)
	good := f.connect(t, "")
	for name, bytes := range map[string]string{
		"an unknown type":     "z\x00\x00\x00\x04",
		"a short length":      "Q\x00\x00\x00\x03",
		"a negative length":   "Q\xff\xff\xff\xff",
		"a query too long":    "Q\x7f\xff\xff\xff",
		"a query without end": "Q\x00\x00\x00\x05a",
		"a password":          "p\x00\x00\x00\x05\x00",
		"a bind without end":  "B\x00\x00\x00\x06a\x00",
		"a bind of counts":    "B\x00\x00\x00\x08\x00\x00\xff\xff",
		"a describe of x":     "D\x00\x00\x00\x06x\x00",
		"an empty parse":      "P\x00\x00\x00\x04",
		"an empty execute":    "E\x00\x00\x00\x04",
	} {
		r := f.raw(t)
		if _, err := r.Write([]byte(bytes)); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(r.until(t, "ErrorResponse"), ",")
		if !strings.HasSuffix(got, "08P01") {
			t.Errorf("%s: %s", name, got)
		}
		if _, err := io.Copy(io.Discard, r); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: the connection stays open: %v", name, err)
		}
	}
	for name, bytes := range map[string]string{
		"HTTP":                 "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"version 2":            "\x00\x00\x00\x08\x00\x02\x00\x00",
		"no user":              "\x00\x00\x00\x09\x00\x03\x00\x00\x00",
		"no end":               "\x00\x00\x00\x0c\x00\x03\x00\x00user",
		"a cancel of nobody":   "\x00\x00\x00\x10\x04\xd2\x16\x2e\x00\x00\x00\x01\x00\x00\x00\x02",
		"a length of nothing":  "\x00\x00\x00\x00",
		"a message before all": "Q\x00\x00\x00\x0dSELECT 1\x00",
		"TLS without ALPN":     "\x16\x03\x01\x00\x05hello",
	} {
		nc, err := net.Dial("tcp", f.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if _, err := nc.Write([]byte(bytes)); err != nil {
			t.Fatal(err)
		}
		if err := nc.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, nc); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: the connection stays open: %v", name, err)
		}
	}
	if rows, _, err := exec(t, good, "SELECT 1"); err != nil || len(rows) != 1 {
		t.Errorf("another connection: %v", err)
	}
}

// TestValueInManyPlaces checks that a statement that uses a long parameter many times is refused before memory is
// allocated.
func TestValueInManyPlaces(t *testing.T) {
	c := start(t).connect(t, "")
	value := []byte(strings.Repeat("v", 4<<20))
	for _, sql := range []string{
		"SELECT $1" + strings.Repeat(", $1", 100_000),
		"INSERT INTO logs (host) VALUES ($1)" + strings.Repeat(", ($1)", 70_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.ExecParams(t.Context(), sql, [][]byte{value}, []uint32{25}, nil, nil).Read().Err
		runtime.ReadMemStats(&after)
		if state(err) != "54000" {
			t.Errorf("%.30s: %v", sql, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<30 {
			t.Errorf("%.30s: %d bytes were allocated", sql, took)
		}
	}
}

// TestManyParameters prepares statements with many parameters. The length of the statement limits them.
func TestManyParameters(t *testing.T) {
	c := start(t).connect(t, "")
	for sql, n := range map[string]int{"SELECT 1 WHERE 1 IN (%)": 35_000, "DELETE FROM logs WHERE n IN (%)": 2_000} {
		var list strings.Builder
		list.WriteString("$1")
		for i := 2; i <= n; i++ {
			list.WriteString(",$" + itoa(int64(i)))
		}
		d, err := c.Prepare(t.Context(), "", strings.Replace(sql, "%", list.String(), 1), nil)
		if err != nil || len(d.ParamOIDs) != n {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestRowInManyMessages checks that a row of COPY may arrive byte by byte.
func TestRowInManyMessages(t *testing.T) {
	f := start(t)
	r := f.raw(t)
	r.send(t, &pgproto3.Query{String: "COPY logs (host) FROM STDIN"})
	r.until(t, "CopyInResponse")
	var sent []byte
	var err error
	for range 400_000 {
		if sent, err = (&pgproto3.CopyData{Data: []byte{'v'}}).Encode(sent); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Write(sent); err != nil {
		t.Fatal(err)
	}
	r.send(t, &pgproto3.CopyDone{})
	r.until(t, "ReadyForQuery")
	if rows := f.service.rows(); len(rows) != 1 || len(rows[0][0]) != 400_000+2 {
		t.Errorf("%d rows are stored", len(rows))
	}
}

// TestManyConnections connects a thousand clients at once. Some are served, and the others get an error.
func TestManyConnections(t *testing.T) {
	f := start(t, func(c *Config) { c.MaxConnections, c.MaxPerAddress = 50, 50 })
	var mu sync.Mutex
	served, refused := 0, 0
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			c, err := f.dial("")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused++
				return
			}
			served++
			_ = c.Conn().Close()
		})
	}
	wg.Wait()
	if served == 0 || served+refused != 1000 {
		t.Errorf("%d served, %d refused", served, refused)
	}
	waitFor(t, func() bool { return f.count() == 0 })
	f.connect(t, "")
}

// TestRefusedAtOnce checks that a client gets an error even if many other refused connections are still open.
func TestRefusedAtOnce(t *testing.T) {
	f := start(t)
	f.mu.Lock()
	f.starting, f.refusing = maxStarting, maxRefusing
	f.mu.Unlock()
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(nc)
	if err != nil || len(answer) == 0 || answer[0] != 'E' || !strings.Contains(string(answer), "C53300\x00") {
		t.Errorf("%q, %v", answer, err)
	}
	f.mu.Lock()
	f.starting, f.refusing = 0, 0
	f.mu.Unlock()
	f.connect(t, "")
}

// FuzzSession sends random messages to a session, which must end or answer the next query.
func FuzzSession(f *testing.F) {
	f.Add([]byte("Q\x00\x00\x00\x0dSELECT 1\x00"))
	f.Add([]byte("P\x00\x00\x00\x11\x00SELECT $1\x00\x00\x00" +
		"B\x00\x00\x00\x0e\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\x00\x00"))
	f.Add([]byte("Q\x00\x00\x00\x19COPY logs FROM STDIN\x00d\x00\x00\x00\x081\ta\nc\x00\x00\x00\x04"))
	f.Add([]byte("Q\x00\x00\x00\x20BEGIN; DECLARE c CURSOR FOR\x00S\x00\x00\x00\x04"))
	server := start(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		if strings.Contains(strings.ToLower(string(in)), "wait") || strings.Contains(string(in), "-") {
			return // statements of the fake service that do not end
		}
		nc, err := net.Dial("tcp", server.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if err := nc.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		begin := []byte("\x00\x00\x00\x12\x00\x03\x00\x00user\x00ann\x00\x00")
		if _, err := nc.Write(append(begin, in...)); err != nil {
			return
		}
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		if _, err := io.Copy(io.Discard, nc); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Fatalf("%q: the connection hangs: %v", in, err)
		}
	})
}
