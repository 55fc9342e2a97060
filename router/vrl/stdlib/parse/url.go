package parse

import (
	"net/netip"
	"strconv"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// maxURL is the longest URL that is parsed, in bytes.
const maxURL = 64 << 10

// maxAts limits the number of @ signs before a query. Each @ before a host makes the parser read all text before it
// again.
const maxAts = 64

// knownPorts are the ports of schemes that have one.
var knownPorts = map[string]int64{"ftp": 21, "http": 80, "https": 443, "ws": 80, "wss": 443}

var parseURL = &fn.Function{
	Name:  "parse_url",
	Group: fn.Parse,
	Doc: "Parses a URL by the WHATWG URL standard, like browsers: hosts are in lower case and in Punycode, paths " +
		"have no dot segments, and the default port of a scheme is left out. If several query parameters have " +
		"the same name, the last one is kept.",
	Params: []fn.Param{
		fn.ValueParam("The URL, with its scheme."),
		{
			Name: "default_known_ports", Doc: "Whether `port` is the default port of the scheme if the URL has none.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(false),
		},
	},
	Returns: kind.ObjectOf(
		kind.Field{Name: "scheme", Kind: kind.String}, kind.Field{Name: "username", Kind: kind.String},
		kind.Field{Name: "password", Kind: kind.String}, kind.Field{Name: "path", Kind: kind.String.OrNull()},
		kind.Field{Name: "host", Kind: kind.String}, kind.Field{Name: "port", Kind: kind.Integer.OrNull()},
		kind.Field{Name: "fragment", Kind: kind.String.OrNull()}, kind.Field{
			Name: "query",
			Kind: kind.ObjectAll(kind.String),
		},
	),
	Fallible: true,
	Errors: []string{
		"the text is not a URL", "the URL has no scheme",
		"the URL has more than 64 @ signs before the query, or is longer than 65536 bytes",
	},
	Examples: []fn.Example{
		{
			Title: "a URL", Source: `parse_url!("https://mia:pw@example.org:8080/a/../b?x=1&y=2#top")`,
			Result: `{"fragment":"top","host":"example.org","password":"pw","path":"/b","port":8080,"query":{"x":"1","y":"2"},` +
				`"scheme":"https","username":"mia"}`,
		},
		{
			Title:  "the default port",
			Source: `parse_url!("https://example.org", default_known_ports: true).port`,
			Result: `443`,
		},
		{Title: "no URL", Source: `parse_url!("example")`, Fails: `unable to parse url`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, known value.Value) (value.Value, bool) {
		s := v.Text()
		if len(s) > maxURL {
			return f.Fail("unable to parse url: it is longer than 65536 bytes")
		}
		before := s // in the query and the fragment, an @ costs nothing
		if i := strings.IndexAny(s, "?#"); i >= 0 {
			before = s[:i]
		}
		ats := strings.Count(before, "@")
		if ats > maxAts {
			return f.Failf("unable to parse url: it has %d @ signs before its query, at most %d are allowed", ats, maxAts)
		}
		if !f.Reserve(512+6*len(s)) || !f.Spend(len(s)/2+ats*len(s)/32) {
			return value.Value{}, false
		}
		u, err := whatwg.Parse(s)
		if err != nil {
			return f.FailErr("unable to parse url: ", err)
		}
		return urlObject(f, u, known.Bool())
	}},
}

func urlObject(f *fn.Frame, u *whatwg.Url, knownPort bool) (value.Value, bool) {
	b := newFields(8)
	if fragment := strings.TrimPrefix(u.Hash(), "#"); fragment != "" {
		b.str("fragment", fragment)
	} else {
		b.add("fragment", value.Value{})
	}
	b.str("host", u.Hostname())
	b.str("password", u.Password())
	b.str("path", u.Pathname())
	port, err := strconv.ParseInt(u.Port(), 10, 64)
	def, isKnown := knownPorts[u.Scheme()]
	switch {
	case err == nil:
		b.add("port", value.NewInt(port))
	case knownPort && isKnown:
		b.add("port", value.NewInt(def))
	default:
		b.add("port", value.Value{})
	}
	list, ok := queryPairs(f, strings.TrimPrefix(u.Search(), "?"))
	if !ok {
		return value.Value{}, false
	}
	b.add("query", gather(list, func(_, b value.Value) value.Value { return b }))
	b.str("scheme", u.Scheme())
	b.str("username", u.Username())
	return b.value(), true
}

// isAddress reports whether a host is an IP address, which has no public suffix.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}
