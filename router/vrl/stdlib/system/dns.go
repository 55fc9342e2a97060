package system

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var (
	dnsQuestionKind = kind.ObjectOf(
		kind.Field{Name: "class", Kind: kind.String},
		kind.Field{Name: "domainName", Kind: kind.String},
		kind.Field{Name: "questionType", Kind: kind.String},
		kind.Field{Name: "questionTypeId", Kind: kind.Integer},
	)
	dnsRecordKind = kind.ObjectOf(
		kind.Field{Name: "class", Kind: kind.String},
		kind.Field{Name: "domainName", Kind: kind.String},
		kind.Field{Name: "rData", Kind: kind.String},
		kind.Field{Name: "recordType", Kind: kind.String},
		kind.Field{Name: "recordTypeId", Kind: kind.Integer},
		kind.Field{Name: "ttl", Kind: kind.Integer},
	)
)

var dnsLookup = &fn.Function{
	Name:  "dns_lookup",
	Group: fn.System,
	Doc: "Queries a name server and returns its answer as an object: header, question, and the lists of records " +
		"answers, " +
		"authority and additional, each with domainName, class, recordType, ttl and rData (the data as text). The program " +
		"waits for the answer.",
	Params: []fn.Param{
		{Name: "value", Doc: "The name to query.", Kind: kind.String},
		{
			Name: "qtype", Doc: "The type of records, such as A, AAAA, MX or TXT.", Kind: kind.String, Optional: true,
			Default: value.NewString("A"),
		},
		{Name: "class", Doc: "The class: IN, CH or HS.", Kind: kind.String, Optional: true, Default: value.NewString("IN")},
		{
			Name: "options", Kind: kind.Object, Optional: true,
			Default: value.NewObject(value.MakeFields(0)).Freeze(), Borrow: true,
			Doc: "servers is a list of name servers (by default those of the host); " +
				"timeout is how many seconds to wait for an answer, " +
				"1 to 30 (default 5); attempts is how often to query, up to 10 (default 2); tcp uses TCP from the start.",
		},
	},
	Returns: kind.ObjectOf(
		kind.Field{Name: "fullRcode", Kind: kind.Integer},
		kind.Field{Name: "rcodeName", Kind: kind.String},
		kind.Field{Name: "header", Kind: kind.ObjectAll(kind.Or(kind.Integer, kind.Boolean))},
		kind.Field{Name: "question", Kind: kind.ArrayAll(dnsQuestionKind)},
		kind.Field{Name: "answers", Kind: kind.ArrayAll(dnsRecordKind)},
		kind.Field{Name: "authority", Kind: kind.ArrayAll(dnsRecordKind)},
		kind.Field{Name: "additional", Kind: kind.ArrayAll(dnsRecordKind)},
	),
	Fallible: true,
	Needs:    fn.Network,
	Errors:   []string{"the name, type, class or an option is not valid", "no server answers"},
	Examples: []fn.Example{
		{Title: "not permitted", Source: `dns_lookup("example.com") ?? "no answer"`, Result: `"no answer"`},
	},
	Impl: fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
		q, err := dnsQuestion(args[0].Text(), args[1].Text(), args[2].Text())
		if err != nil {
			return f.FailErr("unable to perform a DNS lookup: ", err)
		}
		o, err := dnsOptionsOf(args[3].Object())
		if err != nil {
			return f.FailErr("unable to perform a DNS lookup: ", err)
		}
		m, err := o.ask(q)
		if err != nil {
			return f.FailErr("unable to perform a DNS lookup: ", err)
		}
		return dnsObject(m), f.Reserve((len(m.Answers) + len(m.Authorities) + len(m.Additionals)) * 16 * value.FieldBytes)
	}},
}

// dnsTypes are the record types by name. Others are named TYPEn.
var dnsTypes = map[string]dnsmessage.Type{
	"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "WKS": 11, "PTR": 12, "HINFO": 13, "MINFO": 14, "MX": 15, "TXT": 16, "AAAA": 28,
	"LOC": 29, "SRV": 33, "NAPTR": 35, "CERT": 37, "DNAME": 39, "OPT": 41, "DS": 43, "SSHFP": 44, "RRSIG": 46, "NSEC": 47,
	"DNSKEY": 48, "NSEC3": 50, "NSEC3PARAM": 51, "TLSA": 52, "SVCB": 64, "HTTPS": 65, "SPF": 99, "ANY": 255,
	"URI": 256, "CAA": 257,
}

var dnsClasses = map[string]dnsmessage.Class{"IN": 1, "CS": 2, "CH": 3, "HS": 4, "ANY": 255}

func dnsTypeName(t dnsmessage.Type) string {
	for name, n := range dnsTypes {
		if n == t {
			return name
		}
	}
	return "TYPE" + strconv.Itoa(int(t))
}

func dnsClassName(c dnsmessage.Class) string {
	for name, n := range dnsClasses {
		if n == c {
			return name
		}
	}
	return "CLASS" + strconv.Itoa(int(c))
}

func dnsQuestion(name, qtype, class string) (dnsmessage.Question, error) {
	var q dnsmessage.Question
	t, ok := dnsTypes[strings.ToUpper(qtype)]
	if !ok {
		return q, fmt.Errorf("invalid qtype %q", qtype)
	}
	c, ok := dnsClasses[strings.ToUpper(class)]
	if !ok {
		return q, fmt.Errorf("invalid class %q", class)
	}
	if !strings.HasSuffix(name, ".") {
		name += "."
	}
	n, err := dnsmessage.NewName(name)
	if err != nil {
		return q, fmt.Errorf("invalid name %q: %w", name, err)
	}
	return dnsmessage.Question{Name: n, Type: t, Class: c}, nil
}

type dnsOptions struct {
	servers  []string
	timeout  time.Duration
	attempts int
	tcp      bool
}

func dnsOptionsOf(o *value.Fields) (*dnsOptions, error) {
	d := &dnsOptions{timeout: 5 * time.Second, attempts: 2}
	for _, x := range o.Peek() {
		v := x.Value
		switch {
		case x.Key == "timeout" && v.Kind() == value.Int && v.Int() >= 1 && v.Int() <= 30:
			d.timeout = time.Duration(v.Int()) * time.Second
		case x.Key == "attempts" && v.Kind() == value.Int && v.Int() >= 1 && v.Int() <= 10:
			d.attempts = int(v.Int())
		case x.Key == "tcp" && v.Kind() == value.Bool:
			d.tcp = v.Bool()
		case x.Key == "servers" && v.Array() != nil:
			for _, s := range v.Array().Peek() {
				if s.Len() == 0 || !s.IsString() {
					return nil, fmt.Errorf("invalid server %v", s)
				}
				d.servers = append(d.servers, withDNSPort(s.Text()))
			}
		default:
			return nil, fmt.Errorf("invalid option %q: %v", x.Key, v)
		}
	}
	if len(d.servers) == 0 {
		d.servers = hostServers("/etc/resolv.conf")
	}
	return d, nil
}

// withDNSPort adds the port of DNS to an address without a port.
func withDNSPort(server string) string {
	if _, err := netip.ParseAddr(server); err == nil || !strings.Contains(server, ":") {
		return net.JoinHostPort(server, "53")
	}
	return server
}

// hostServers returns the name servers in a file in the format of resolv.conf.
func hostServers(file string) []string {
	text, _ := os.ReadFile(file) // if there is no file, the local server is used
	var out []string
	for line := range strings.Lines(string(text)) {
		if w := strings.Fields(line); len(w) > 1 && w[0] == "nameserver" {
			out = append(out, withDNSPort(w[1]))
		}
	}
	if len(out) == 0 {
		out = []string{"127.0.0.1:53"}
	}
	return out
}

// ask queries the servers in order until one answers.
func (d *dnsOptions) ask(q dnsmessage.Question) (*dnsmessage.Message, error) {
	id := uint16(rand.Uint32()) // the port of the socket is random too
	ask := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{q},
	}
	packet, err := ask.Pack()
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(d.timeout * time.Duration(d.attempts))
	for range d.attempts {
		for _, server := range d.servers {
			until := time.Now().Add(d.timeout)
			if until.After(deadline) {
				until = deadline
			}
			var m *dnsmessage.Message
			if !d.tcp {
				m, err = exchange("udp", server, packet, id, until)
			}
			if d.tcp || err == nil && m.Truncated {
				m, err = exchange("tcp", server, packet, id, until)
			}
			if err == nil {
				return m, nil
			}
		}
	}
	return nil, err
}

// exchange sends a packet to a server and returns the answer with the same number.
func exchange(network, server string, packet []byte, id uint16, until time.Time) (*dnsmessage.Message, error) {
	conn, err := (&net.Dialer{Deadline: until}).Dial(network, server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // Read has reported any error
	if err := conn.SetDeadline(until); err != nil {
		return nil, err
	}
	if network == "tcp" {
		packet = append(binary.BigEndian.AppendUint16(nil, uint16(len(packet))), packet...)
	}
	if _, err := conn.Write(packet); err != nil {
		return nil, err
	}
	buf := make([]byte, 64<<10)
	for {
		n := 0
		if network == "udp" {
			n, err = conn.Read(buf)
		} else if _, err = io.ReadFull(conn, buf[:2]); err == nil {
			n, err = io.ReadFull(conn, buf[:binary.BigEndian.Uint16(buf)])
		}
		if err != nil {
			return nil, err
		}
		m := &dnsmessage.Message{}
		if err := m.Unpack(buf[:n]); err != nil {
			if network == "udp" {
				continue // it may be forged
			}
			return nil, err
		}
		if m.ID == id && m.Response {
			return m, nil
		}
		if network == "tcp" {
			return nil, errors.New("the server answered a different question")
		}
	}
}

// dnsObject converts an answer to a value.
func dnsObject(m *dnsmessage.Message) value.Value {
	number := func(n int) value.Value { return value.NewInt(int64(n)) }
	header := value.ObjectOf(
		value.Field{Key: "aa", Value: value.NewBool(m.Authoritative)},
		value.Field{Key: "ad", Value: value.NewBool(m.AuthenticData)},
		value.Field{Key: "anCount", Value: number(len(m.Answers))},
		value.Field{Key: "arCount", Value: number(len(m.Additionals))},
		value.Field{Key: "cd", Value: value.NewBool(m.CheckingDisabled)},
		value.Field{Key: "id", Value: number(int(m.ID))},
		value.Field{Key: "nsCount", Value: number(len(m.Authorities))},
		value.Field{Key: "opcode", Value: number(int(m.OpCode))},
		value.Field{Key: "qdCount", Value: number(len(m.Questions))},
		value.Field{Key: "qr", Value: value.NewBool(m.Response)},
		value.Field{Key: "ra", Value: value.NewBool(m.RecursionAvailable)},
		value.Field{Key: "rcode", Value: number(int(m.RCode))},
		value.Field{Key: "rd", Value: value.NewBool(m.RecursionDesired)},
		value.Field{Key: "tc", Value: value.NewBool(m.Truncated)},
	)
	questions := make([]value.Value, len(m.Questions))
	for i, q := range m.Questions {
		questions[i] = value.ObjectOf(
			value.Field{Key: "class", Value: value.NewString(dnsClassName(q.Class))},
			value.Field{Key: "domainName", Value: value.NewString(q.Name.String())},
			value.Field{Key: "questionType", Value: value.NewString(dnsTypeName(q.Type))},
			value.Field{Key: "questionTypeId", Value: number(int(q.Type))},
		)
	}
	return value.ObjectOf(
		value.Field{Key: "fullRcode", Value: number(int(m.RCode))},
		value.Field{Key: "rcodeName", Value: value.NewString(rcodeName(m.RCode))},
		value.Field{Key: "header", Value: header},
		value.Field{Key: "question", Value: value.NewArray(questions)},
		value.Field{Key: "answers", Value: dnsRecords(m.Answers)},
		value.Field{Key: "authority", Value: dnsRecords(m.Authorities)},
		value.Field{Key: "additional", Value: dnsRecords(m.Additionals)},
	)
}

func rcodeName(c dnsmessage.RCode) string {
	names := []string{
		"NoError", "FormErr", "ServFail", "NXDomain", "NotImp", "Refused", "YXDomain", "YXRRSet", "NXRRSet", "NotAuth",
		"NotZone",
	}
	if int(c) < len(names) {
		return names[c]
	}
	return "RCODE" + strconv.Itoa(int(c))
}

func dnsRecords(list []dnsmessage.Resource) value.Value {
	out := make([]value.Value, len(list))
	for i, r := range list {
		out[i] = value.ObjectOf(
			value.Field{Key: "class", Value: value.NewString(dnsClassName(r.Header.Class))},
			value.Field{Key: "domainName", Value: value.NewString(r.Header.Name.String())},
			value.Field{Key: "rData", Value: value.NewString(rData(r.Body))},
			value.Field{Key: "recordType", Value: value.NewString(dnsTypeName(r.Header.Type))},
			value.Field{Key: "recordTypeId", Value: value.NewInt(int64(r.Header.Type))},
			value.Field{Key: "ttl", Value: value.NewInt(int64(r.Header.TTL))},
		)
	}
	return value.NewArray(out)
}

// rData returns the data of a record as text, in the format of zone files.
func rData(body dnsmessage.ResourceBody) string {
	switch b := body.(type) {
	case *dnsmessage.AResource:
		return netip.AddrFrom4(b.A).String()
	case *dnsmessage.AAAAResource:
		return netip.AddrFrom16(b.AAAA).String()
	case *dnsmessage.CNAMEResource:
		return b.CNAME.String()
	case *dnsmessage.NSResource:
		return b.NS.String()
	case *dnsmessage.PTRResource:
		return b.PTR.String()
	case *dnsmessage.MXResource:
		return fmt.Sprintf("%d %s", b.Pref, b.MX)
	case *dnsmessage.SRVResource:
		return fmt.Sprintf("%d %d %d %s", b.Priority, b.Weight, b.Port, b.Target)
	case *dnsmessage.SOAResource:
		return fmt.Sprintf("%s %s %d %d %d %d %d", b.NS, b.MBox, b.Serial, b.Refresh, b.Retry, b.Expire, b.MinTTL)
	case *dnsmessage.TXTResource:
		parts := make([]string, len(b.TXT))
		for i, s := range b.TXT {
			parts[i] = strconv.Quote(s)
		}
		return strings.Join(parts, " ")
	case *dnsmessage.OPTResource:
		return fmt.Sprintf("OPT with %d options", len(b.Options))
	case *dnsmessage.UnknownResource:
		return fmt.Sprintf(`\# %d %X`, len(b.Data), b.Data)
	}
	return ""
}
