package system_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/vrltest"
)

func TestHost(t *testing.T) {
	t.Setenv("VRL_TEST", "value")
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	vrltest.Run(t, []vrltest.Case{
		{Source: `get_env_var!("VRL_TEST")`, Want: `"value"`, Grants: fn.Environment},
		{Name: "not granted", Source: `get_env_var!("VRL_TEST")`, RunError: "may not use the environment"},
		{Source: `get_env_var!("VRL_NONE")`, RunError: "environment variable not found", Grants: fn.Environment},
		{Source: `get_env_var!("A=B")`, RunError: "environment variable not found", Grants: fn.Environment},
		{Source: `get_hostname!()`, Want: fmt.Sprintf("%q", name), Grants: fn.Environment},
		{Name: "hostname not granted", Source: `get_hostname!()`, RunError: "may not use the environment"},
		{Source: `get_timezone_name!()`, Zone: "Europe/Berlin", Want: `"Europe/Berlin"`},
	})
}

func TestLocalZone(t *testing.T) {
	for tz, want := range map[string]string{"": "UTC", "Asia/Tokyo": "Asia/Tokyo", ":Asia/Tokyo": "Asia/Tokyo"} {
		t.Setenv("TZ", tz)
		vrltest.Run(t, []vrltest.Case{
			{Name: tz, Source: `get_timezone_name!()`, Zone: "local", Want: fmt.Sprintf("%q", want)},
		})
	}
}

func TestHTTPRequest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			_, _ = io.Copy(w, strings.NewReader(strings.Repeat("x", 9<<20)))
			return
		}
		if r.URL.Path == "/fails" {
			w.WriteHeader(http.StatusTeapot)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("X-Key"), body)
	}))
	defer server.Close()
	call := func(rest string) string { return `http_request!("` + server.URL + rest + `)` }
	nobody := "http://127.0.0.1:1/"
	vrltest.Run(t, []vrltest.Case{
		{Name: "get", Source: call(`/a"`), Want: `"GET /a  "`, Grants: fn.Network},
		{
			Name: "post", Source: call(`/a", method: "Post", headers: {"x-key": "k"}, body: "b"`), Want: `"POST /a k b"`,
			Grants: fn.Network,
		},
		{Name: "any status", Source: call(`/fails"`), Want: `"GET /fails  "`, Grants: fn.Network},
		{
			Name: "by a proxy", Source: `http_request!("http://example.invalid/b", http_proxy: "` + server.URL + `")`,
			Want: `"GET /b  "`, Grants: fn.Network,
		},
		{Name: "too long", Source: call(`/long"`), RunError: "longer than", Grants: fn.Network},
		{
			Name: "method", Source: call(`/a", method: "steal"`), RunError: "Unsupported HTTP method: steal",
			Grants: fn.Network,
		},
		{Name: "header", Source: call(`/a", headers: {"a": 1}`), RunError: `header "a" must be a string`, Grants: fn.Network},
		{
			Name:     "nobody there",
			Source:   `http_request!("` + nobody + `", headers: {"K": "secret"}, redact_headers: false)`,
			RunError: "secret", Grants: fn.Network,
		},
		{Name: "URL", Source: `http_request!(":")`, RunError: "HTTP request failed", Grants: fn.Network},
		{Name: "not granted", Source: call(`/a"`), RunError: "may not use the network"},
	})
}

// nameServer starts a name server that answers all queries: truncated by UDP, and in full by TCP.
func nameServer(t *testing.T) string {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = tcp.Close()
		_ = udp.Close()
	})
	answer := func(packet []byte, truncated bool) []byte {
		var m dnsmessage.Message
		if m.Unpack(packet) != nil || len(m.Questions) != 1 {
			return nil
		}
		q := m.Questions[0]
		m.Response, m.Truncated = true, truncated
		add := func(typ dnsmessage.Type, body dnsmessage.ResourceBody) {
			if q.Type == typ && !truncated {
				m.Answers = append(m.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: typ, TTL: 60},
					Body:   body,
				})
			}
		}
		name := dnsmessage.MustNewName("mail.example.")
		add(dnsmessage.TypeA, &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}})
		add(dnsmessage.TypeAAAA, &dnsmessage.AAAAResource{AAAA: [16]byte{0x20, 1, 0xd, 0xb8, 15: 1}})
		add(dnsmessage.TypeMX, &dnsmessage.MXResource{Pref: 10, MX: name})
		add(dnsmessage.TypeSRV, &dnsmessage.SRVResource{Priority: 1, Weight: 2, Port: 3, Target: name})
		add(dnsmessage.TypeSOA, &dnsmessage.SOAResource{
			NS: name, MBox: name, Serial: 1, Refresh: 2, Retry: 3, Expire: 4, MinTTL: 5,
		})
		add(dnsmessage.TypeTXT, &dnsmessage.TXTResource{TXT: []string{"a b", "c"}})
		add(dnsmessage.TypeNS, &dnsmessage.NSResource{NS: name})
		add(dnsmessage.TypeCNAME, &dnsmessage.CNAMEResource{CNAME: name})
		add(dnsmessage.TypePTR, &dnsmessage.PTRResource{PTR: name})
		add(257, &dnsmessage.UnknownResource{Type: 257, Data: []byte{1, 2}})
		out, err := m.Pack()
		if err != nil {
			return nil
		}
		return out
	}
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := udp.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo([]byte("noise"), from)
			_, _ = udp.WriteTo(answer(buf[:n], true), from)
		}
	}()
	go func() {
		for {
			conn, err := tcp.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 2048)
			n, _ := conn.Read(buf)
			if n > 2 {
				out := answer(buf[2:n], false)
				_, _ = conn.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...))
			}
			_ = conn.Close()
		}
	}()
	return tcp.Addr().String()
}

func TestDNSLookup(t *testing.T) {
	server := nameServer(t)
	cases := []vrltest.Case{
		{
			Name: "all of an answer", Grants: fn.Network,
			Source: `r = dns_lookup!("example.org", options: {"servers": ["` + server + `"], "timeout": 5}); r.header.id = 0; r`,
			Want: `{"additional":[],"answers":[{"class":"IN","domainName":"example.org.","rData":"192.0.2.1","recordType":"A",` +
				`"recordTypeId":1,"ttl":60}],
				"authority":[],"fullRcode":0,"rcodeName":"NoError","question":[{"class":"IN","domainName":"example.org.",` +
				`"questionType":"A","questionTypeId":1}],
				"header":{"aa":false,"ad":false,"anCount":1,"arCount":0,"cd":false,"id":0,"nsCount":0,"opcode":0,"qdCount":1,` +
				`"qr":true,"ra":false,"rcode":0,"rd":true,"tc":false}}`,
		},
		{Name: "type", Source: `dns_lookup!("a", qtype: "B")`, RunError: `invalid qtype "B"`, Grants: fn.Network},
		{Name: "class", Source: `dns_lookup!("a", class: "B")`, RunError: `invalid class "B"`, Grants: fn.Network},
		{
			Name: "option", Source: `dns_lookup!("a", options: {"timeout": 0})`, RunError: `invalid option "timeout"`,
			Grants: fn.Network,
		},
		{
			Name: "server", Source: `dns_lookup!("a", options: {"servers": [1]})`, RunError: `invalid server 1`,
			Grants: fn.Network,
		},
		{
			Name:     "nobody there",
			Source:   `dns_lookup!("a", options: {"servers": ["127.0.0.1:1"], "tcp": true, "attempts": 1})`,
			RunError: "unable to perform a DNS lookup", Grants: fn.Network,
		},
		{Name: "not granted", Source: `dns_lookup!("a")`, RunError: "may not use the network"},
	}
	for qtype, want := range map[string]string{
		"AAAA": "2001:db8::1", "mx": "10 mail.example.", "SRV": "1 2 3 mail.example.",
		"SOA": "mail.example. mail.example. 1 2 3 4 5",
		"TXT": `\"a b\" \"c\"`, "NS": "mail.example.", "CNAME": "mail.example.", "PTR": "mail.example.", "CAA": `\\# 2 0102`,
	} {
		cases = append(cases, vrltest.Case{
			Name: qtype, Want: `"` + want + `"`, Grants: fn.Network,
			Source: `dns_lookup!("x", qtype: "` + qtype + `", options: {"servers": ["` + server +
				`"], "tcp": true}).answers[0].rData`,
		})
	}
	vrltest.Run(t, cases)
}

func TestReverseDNS(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `reverse_dns!("300.1.1.1")`, RunError: "unable to parse ip address", Grants: fn.Network},
		{Source: `reverse_dns!("127.0.0.1")`, RunError: "may not use the network"},
	})
}
