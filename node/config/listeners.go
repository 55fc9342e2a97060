package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"cordwood/proto/nearest"
	"cordwood/proto/schema"
)

// Kind is a protocol of another system that may have ports of its own. Kinds has a row for each, from which its flag, its
// ports and what may be set of them follow.
type Kind struct {
	// Name is its name in the flag, NAME-addr.
	Name string
	// Protocol is its name in package ingest.
	Protocol string
	// What says what it is, for messages and help.
	What string
	// Port is the one that the original uses.
	Port int
	// HTTP2 has the port speak HTTP/2 without TLS as well.
	HTTP2 bool
	// params are those that only this protocol has, with the words that each may have.
	params map[string][]string
}

// Kinds are all protocols with ports of their own, in the order in which they are shown.
var Kinds = []*Kind{
	{Name: "loki", Protocol: "loki", What: "Loki's push API", Port: 3100},
	{Name: "splunk", Protocol: "splunk", What: "Splunk's HTTP event collector", Port: 8088, params: map[string][]string{"pipeline_by_sourcetype": truth}},
	{Name: "otlp-http", Protocol: "otlp", What: "OTLP over HTTP", Port: 4318},
	{Name: "otlp-grpc", Protocol: "otlp_grpc", What: "OTLP by gRPC", Port: 4317, HTTP2: true},
}

// truth is what a parameter may have that is a yes or no.
var truth = []string{"true", "false"}

// Flag is the name of the flag.
func (k *Kind) Flag() string { return k.Name + "-addr" }

// common are the parameters of all kinds, with the words that each may have; nil: a name.
var common = map[string][]string{
	"db": nil, "table": nil, "pipeline": nil, "version": nil, "event_time": {"on", "off"}, "dedupe": {"body"},
}

// Listener is a port of its own for a protocol, and what holds for what comes in by it.
type Listener struct {
	Kind *Kind
	// Addr is HOST:PORT.
	Addr string
	// Params are the parameters behind the address, as db=….
	Params map[string]string
}

// Listeners are the ports of their own.
type Listeners []Listener

// flags declares the flag of each kind.
func (l *Listeners) flags(fs *pflag.FlagSet) {
	for _, k := range Kinds {
		fs.Var(&listenersOf{kind: k, all: l}, k.Flag(), fmt.Sprintf(
			"address for %s, `HOST:PORT?db=…&table=…`, usually with port %d; several are separated by commas; none: off", k.What, k.Port))
	}
}

// listenersOf is the value of the flag of a kind.
type listenersOf struct {
	kind *Kind
	all  *Listeners
	text string
}

// String implements pflag.Value.
func (v *listenersOf) String() string { return v.text }

// Type implements pflag.Value.
func (v *listenersOf) Type() string { return "addresses" }

// Set implements pflag.Value.
func (v *listenersOf) Set(text string) error {
	var out Listeners
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		l, err := v.kind.parse(one)
		if err != nil {
			return err
		}
		out = append(out, l)
	}
	others := slices.DeleteFunc(slices.Clone(*v.all), func(l Listener) bool { return l.Kind == v.kind })
	*v.all, v.text = append(others, out...), text
	return nil
}

// parse reads one address with its parameters.
func (k *Kind) parse(text string) (Listener, error) {
	l := Listener{Kind: k, Params: map[string]string{}}
	query := ""
	l.Addr, query, _ = strings.Cut(text, "?")
	if _, port, err := net.SplitHostPort(l.Addr); err != nil || !isPort(port) {
		return l, fmt.Errorf("want HOST:PORT, as 127.0.0.1:%d, and no path", k.Port)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return l, errors.New("the parameters cannot be read: write them as in a URL, as db=logs&table=app")
	}
	for name, all := range values {
		words, known := common[name]
		if !known {
			words, known = k.params[name]
		}
		switch {
		case !known:
			return l, fmt.Errorf("the parameter %q is not known%s", name, k.like(name))
		case len(all) > 1:
			return l, fmt.Errorf("the parameter %s is given twice", name)
		case all[0] == "":
			return l, fmt.Errorf("the parameter %s is empty: leave it out", name)
		case words != nil && !slices.Contains(words, all[0]):
			return l, fmt.Errorf("%s=%s: want %s", name, all[0], strings.Join(words, " or "))
		}
		l.Params[name] = all[0]
	}
	if table := l.Params["table"]; table != "" {
		if err := schema.CheckTableName(table); err != nil {
			return l, err
		}
	}
	if l.Params["version"] != "" && l.Params["pipeline"] == "" {
		return l, errors.New("version needs pipeline: it is the version of one")
	}
	return l, nil
}

// like is the end of a sentence about a parameter that is not known.
func (k *Kind) like(name string) string {
	known := slices.Sorted(maps.Keys(common))
	known = append(known, slices.Sorted(maps.Keys(k.params))...)
	if like := nearest.DidYouMean("; ", name, known); like != "" {
		return like
	}
	return ": there are " + strings.Join(known, ", ")
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n <= 65535
}

// check looks whether the node serves users at all, and whether ports are taken twice.
func (l Listeners) check(c *Config, f *faults) {
	seen := map[string]string{c.HTTP.Addr: "http-addr", c.HTTP.V1Addr: "http-v1-addr", c.RPC.Addr: "rpc-addr", c.AdminAddr: "admin-addr"}
	for _, one := range l {
		flag := one.Kind.Flag()
		if !c.Has(RoleRouter) {
			f.add("--%s needs the role router: nodes without it serve no users", flag)
		}
		if before := seen[one.Addr]; before != "" && !strings.HasSuffix(one.Addr, ":0") {
			f.add("--%s and --%s have the same address, %s: each needs a port of its own", before, flag, one.Addr)
		}
		seen[one.Addr] = flag
	}
}

// OpenListeners are those by which everybody stores logs who reaches them, others than this machine too.
func (c *Config) OpenListeners() (open []Listener) {
	for _, l := range c.Listeners {
		if !c.Users.Known() && !Loopback(l.Addr) {
			open = append(open, l)
		}
	}
	return open
}
