package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/router/access/token"
)

// Kind is a protocol of another system that may have separate ports. Its row in Kinds determines
// its flag, its ports and their settings.
type Kind struct {
	// Name is its name in the flag, NAME-addr.
	Name string
	// Protocol is its name in package ingest.
	Protocol string
	// What is the name of the protocol in messages and help.
	What string
	// Port is the default port of the original system.
	Port int
	// HTTP2 makes the port also serve HTTP/2 without TLS.
	HTTP2 bool
	// Schemes are the possible schemes of its addresses: udp, tcp, tls. Without schemes the
	// protocol uses HTTP, with TLS as on the user port.
	Schemes []string
	// params are the parameters that not all protocols have.
	params params
}

// params are parameters by name; the function checks a value.
type params map[string]func(value string) error

// Kinds are all protocols with separate ports, in display order.
var Kinds = []*Kind{
	{
		Name: "elasticsearch", Protocol: "elasticsearch", What: "Elasticsearch's bulk API", Port: 9200,
		params: overHTTP.union(params{"index_date": oneOf("strip", "keep"), "elasticsearch_version": elasticVersion}),
	},
	{Name: "loki", Protocol: "loki", What: "Loki's API", Port: 3100, params: overHTTP},
	{
		Name: "splunk", Protocol: "splunk", What: "Splunk's HTTP event collector", Port: 8088,
		params: overHTTP.union(params{"pipeline_by_sourcetype": oneOf("true", "false")}),
	},
	{Name: "otlp-http", Protocol: "otlp", What: "OTLP over HTTP", Port: 4318, params: overHTTP},
	{Name: "otlp-grpc", Protocol: "otlp_grpc", What: "OTLP by gRPC", Port: 4317, HTTP2: true, params: overHTTP},
	{Name: "datadog", Protocol: "datadog", What: "Datadog's intake of logs", Port: 8282, params: overHTTP},
	{Name: "journald", Protocol: "journald", What: "the uploads of systemd's journals", Port: 19532, params: overHTTP},
	{
		Name: "syslog", Protocol: "syslog", What: "syslog", Port: 514, Schemes: []string{schemeUDP, "tcp", schemeTLS},
		params: params{TokenFile: anything, "timezone": zone, "rate": positive},
	},
	{
		Name: "gelf", Protocol: "gelf", What: "GELF", Port: 12201, Schemes: []string{schemeUDP, "tcp", schemeTLS},
		params: params{TokenFile: anything, "rate": positive},
	},
	{
		Name: "forward", Protocol: "forward", What: "Fluentd's forward protocol", Port: 24224,
		Schemes: []string{"tcp", schemeTLS},
		params: params{
			TokenFile: anything, KeyFile: anything, "table_by_tag": oneOf("true", "false"), "event_time": oneOf("on", "off"),
		},
	},
}

const (
	schemeUDP = "udp"
	schemeTLS = "tls"
	// TokenFile is the parameter for a file that contains USER:PASSWORD. All logs of the port are stored as this
	// user.
	TokenFile = "token-file"
	// KeyFile is the parameter for a file that contains a key that clients must know.
	KeyFile = "shared-key-file"
)

var (
	// everywhere are the parameters of all protocols.
	everywhere = params{
		"db": anything, "table": schema.CheckTableName, "pipeline": anything, "version": anything,
		schema.OptionOnTypeConflict: typeConflict,
	}
	// overHTTP are further parameters of protocols over HTTP.
	overHTTP = params{"event_time": oneOf("on", "off"), "dedupe": oneOf("body")}
)

// union returns the union of two sets of parameters.
func (p params) union(more params) params {
	all := maps.Clone(p)
	maps.Copy(all, more)
	return all
}

func anything(string) error { return nil }

// elasticVersion checks the version of Elasticsearch that is reported to clients.
func elasticVersion(text string) error {
	if !regexp.MustCompile(`^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}$`).MatchString(text) {
		return errors.New("want a version such as 7.17.0")
	}
	return nil
}

func oneOf(words ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("want %s", strings.Join(words, " or "))
		}
		return nil
	}
}

// typeConflict checks the rule for values that have another type than their column.
func typeConflict(value string) error {
	return schema.ValidateOptions(map[string]string{schema.OptionOnTypeConflict: value})
}

func positive(value string) error {
	if n, err := strconv.ParseInt(value, 10, 32); err != nil || n < 1 {
		return errors.New("want a whole number of at least 1")
	}
	return nil
}

func zone(value string) error {
	if _, err := time.LoadLocation(value); err != nil {
		return errors.New("want the name of a time zone, such as UTC or Europe/Berlin")
	}
	return nil
}

// ReadToken reads a file with USER:PASSWORD, or with a token. user is empty for a token.
func ReadToken(file string) (user, password string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	line := strings.TrimSpace(string(text))
	if token.Like(line) {
		if _, ok := token.Parse(line); !ok {
			return "", "", fmt.Errorf("%s: the token was changed or cut: it has the form cw_ID_SECRET", file)
		}
		return "", line, nil
	}
	user, password, found := strings.Cut(line, ":")
	if !found || user == "" || password == "" || strings.ContainsAny(user+password, "\r\n") {
		return "", "", fmt.Errorf("%s: want one line, USER:PASSWORD or a token", file)
	}
	return user, password, nil
}

// ReadKey reads a file with a key, without surrounding white space.
func ReadKey(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if key == "" || strings.ContainsAny(key, "\r\n") {
		return "", fmt.Errorf("%s: want one line with a key", file)
	}
	return key, nil
}

// Flag returns the name of the flag.
func (k *Kind) Flag() string { return k.Name + "-addr" }

// usage returns the help of the flag.
func (k *Kind) usage() string {
	form := "`HOST:PORT?db=…&table=…`"
	if len(k.Schemes) > 0 {
		form = "`" + k.Schemes[0] + "://HOST:PORT?db=…&table=…`"
		for _, other := range k.Schemes[1:] {
			form += ", " + other + "://…"
		}
	}
	return fmt.Sprintf("address for %s, %s, usually with port %d; separate several addresses by commas; off by default",
		k.What, form, k.Port)
}

// Listener is a port for one protocol, with the parameters for its logs.
type Listener struct {
	Kind *Kind
	// Scheme is one of the schemes of the kind.
	Scheme string
	// Addr is HOST:PORT.
	Addr string
	// Params are the parameters after the address, such as db=….
	Params map[string]string
}

// Packets reports whether the listener receives UDP datagrams instead of connections.
func (l *Listener) Packets() bool { return l.Scheme == schemeUDP }

// TLS reports whether connections use TLS without HTTP.
func (l *Listener) TLS() bool { return l.Scheme == schemeTLS }

// Listeners are the separate ports.
type Listeners []Listener

// flags declares the flag of each kind.
func (l *Listeners) flags(fs *pflag.FlagSet) {
	for _, k := range Kinds {
		fs.Var(&listenersOf{kind: k, all: l}, k.Flag(), k.usage())
	}
}

// listenersOf is the value of the flag of a kind.
type listenersOf struct {
	kind *Kind
	all  *Listeners
	text string
}

func (v *listenersOf) String() string { return v.text }

func (v *listenersOf) Type() string { return "addresses" }

// Set adds the listeners of a value. Like a flag for a list, it may be given several times.
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
	if v.text != "" {
		text = v.text + "," + text
	}
	*v.all, v.text = append(*v.all, out...), text
	return nil
}

// parse reads one address with its parameters.
func (k *Kind) parse(text string) (Listener, error) {
	l := Listener{Kind: k, Params: map[string]string{}}
	example := fmt.Sprintf("127.0.0.1:%d", k.Port)
	if len(k.Schemes) > 0 {
		var found bool
		if l.Scheme, text, found = strings.Cut(text, "://"); !found || !slices.Contains(k.Schemes, l.Scheme) {
			return l, fmt.Errorf("want %s://HOST:PORT, such as %s://%s",
				strings.Join(k.Schemes, ":// or "), k.Schemes[0], example)
		}
	}
	var query string
	l.Addr, query, _ = strings.Cut(text, "?")
	switch _, port, err := net.SplitHostPort(l.Addr); {
	case err != nil || strings.Contains(port, "/"):
		return l, fmt.Errorf("want HOST:PORT, such as %s, without a path", example)
	case !isPort(port):
		return l, fmt.Errorf("port %q: want a number from 0 to 65535", port)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return l, errors.New("the parameters cannot be read: write them as in a URL, such as db=logs&table=app")
	}
	known := everywhere.union(k.params)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all, check := values[name], known[name]
		switch {
		case check == nil:
			return l, fmt.Errorf("the parameter %q is not known%s", name, suggestion(name, known))
		case len(all) > 1:
			return l, fmt.Errorf("the parameter %s is given twice", name)
		case all[0] == "":
			return l, fmt.Errorf("the parameter %s is empty: leave it out", name)
		}
		if err := check(all[0]); err != nil {
			return l, fmt.Errorf("%s=%s: %w", name, all[0], err)
		}
		l.Params[name] = all[0]
	}
	if l.Params["version"] != "" && l.Params["pipeline"] == "" {
		return l, errors.New("version needs pipeline: it selects the version of that pipeline")
	}
	return l, nil
}

// suggestion returns the end of an error about an unknown parameter: a similar name, or all names.
func suggestion(name string, known params) string {
	names := slices.Sorted(maps.Keys(known))
	if like := nearest.DidYouMean("; ", name, names); like != "" {
		return like
	}
	return ": there are " + strings.Join(names, ", ")
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// check checks that the node serves users, that no two listeners have the same address, and that the logs of each
// have a user.
func (l Listeners) check(c *Config, f *faults) {
	seen := map[string]string{
		c.HTTP.Addr: "http-addr", c.HTTP.V1Addr: "http-v1-addr", c.RPC.Addr: "rpc-addr", c.AdminAddr: "admin-addr",
		c.PG.Addr: "pg-addr",
	}
	for _, one := range l {
		flag, addr := one.Kind.Flag(), one.Addr
		if !c.Has(RoleRouter) {
			f.add("--%s needs the role router: nodes without it serve no users", flag)
		}
		if one.Packets() {
			addr = schemeUDP + "://" + addr // a UDP port may have the number of a TCP port
		}
		if before := seen[addr]; before != "" && !strings.HasSuffix(addr, ":0") {
			f.add("--%s and --%s have the same address, %s: each needs its own port", before, flag, addr)
		}
		seen[addr] = flag
		if one.TLS() && c.TLS.Cert == "" {
			f.add("--%s %s://%s needs --tls-cert and --tls-key", flag, one.Scheme, one.Addr)
		}
		one.checkUser(c, f)
	}
}

// checkUser checks that a listener whose protocol has no users sets the user for its logs.
func (l *Listener) checkUser(c *Config, f *faults) {
	certificates := l.TLS() && c.Users.certificates()
	switch file := l.Params[TokenFile]; {
	case len(l.Kind.Schemes) == 0:
	case file != "" && !c.Users.Known():
		f.add("--%s: %s needs users: set --user-file", l.Kind.Flag(), TokenFile)
	case file == "" && c.Users.Known() && !certificates:
		f.add("--%s %s://%s: there are users, and %s has none: add %s=FILE, a file with USER:PASSWORD of the user as "+
			"whom its logs are stored, or with a token, or use tls:// with --tls-client-ca and --tls-client-user, for "+
			"client certificates",
			l.Kind.Flag(), l.Scheme, l.Addr, l.Kind.What, TokenFile)
	}
}

// CheckTokens reads the files with users and keys that addresses refer to.
func (l Listeners) CheckTokens() error {
	var failed []error
	for _, one := range l {
		if file := one.Params[TokenFile]; file != "" {
			if _, _, err := ReadToken(file); err != nil {
				failed = append(failed, fmt.Errorf("--%s: %s: %w", one.Kind.Flag(), TokenFile, err))
			}
		}
		if file := one.Params[KeyFile]; file != "" {
			if _, err := ReadKey(file); err != nil {
				failed = append(failed, fmt.Errorf("--%s: %s: %w", one.Kind.Flag(), KeyFile, err))
			}
		}
	}
	return errors.Join(failed...)
}

// OpenListeners returns the listeners that accept logs from other machines without authentication.
func (c *Config) OpenListeners() (open []Listener) {
	for _, l := range c.Listeners {
		if !c.Users.Known() && !Loopback(l.Addr) {
			open = append(open, l)
		}
	}
	return open
}
