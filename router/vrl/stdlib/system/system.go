package system

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var getEnvVar = &fn.Function{
	Name:     "get_env_var",
	Group:    fn.System,
	Doc:      "Returns the value of an environment variable of the host.",
	Params:   []fn.Param{{Name: "name", Doc: "The name of the variable.", Kind: kind.String}},
	Returns:  kind.String,
	Fallible: true,
	Needs:    fn.Environment,
	Errors:   []string{"the variable does not exist"},
	Examples: []fn.Example{
		{Title: "a default", Source: `get_env_var("NO_SUCH_VARIABLE") ?? "none"`, Result: `"none"`},
		{Title: "a variable", Source: `get_env_var!("PATH")`, Any: true, Needs: fn.Environment},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, name value.Value) (value.Value, bool) {
		s := name.Text()
		if s == "" || strings.ContainsAny(s, "=\x00") {
			return f.Fail("environment variable not found")
		}
		v, ok := os.LookupEnv(s)
		if !ok {
			return f.Fail("environment variable not found")
		}
		return value.NewString(v), true
	}},
}

var getHostname = &fn.Function{
	Name:     "get_hostname",
	Group:    fn.System,
	Doc:      "Returns the name of the host.",
	Returns:  kind.String,
	Fallible: true,
	Needs:    fn.Environment,
	Errors:   []string{"the host has no name"},
	Examples: []fn.Example{
		{Title: "the name", Source: `get_hostname!()`, Any: true, Needs: fn.Environment},
	},
	Impl: fn.Impl{F0: func(f *fn.Frame) (value.Value, bool) {
		name, err := os.Hostname()
		if err != nil {
			return f.FailErr("failed to get hostname: ", err)
		}
		return value.NewString(name), true
	}},
}

var getTimezoneName = &fn.Function{
	Name:     "get_timezone_name",
	Group:    fn.System,
	Doc:      "Returns the name of the program's time zone: UTC or an IANA name.",
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the program uses the host's time zone, which has no name"},
	Examples: []fn.Example{
		{Title: "the zone", Source: `get_timezone_name!()`, Result: `"UTC"`},
	},
	Impl: fn.Impl{F0: func(f *fn.Frame) (value.Value, bool) {
		name := f.Host.Zone.String()
		if name != "Local" {
			return value.NewString(name), true
		}
		if name = localZone(); name == "" {
			return f.Fail("failed to get the name of the local time zone: neither TZ nor /etc/localtime has it")
		}
		return value.NewString(name), true
	}},
}

// localZone returns the name of the host's time zone; "" if it cannot be determined.
func localZone() string {
	if tz, ok := os.LookupEnv("TZ"); ok {
		tz = strings.TrimPrefix(tz, ":")
		switch {
		case tz == "":
			return "UTC"
		case !strings.HasPrefix(tz, "/"):
			return tz
		}
	}
	to, err := os.Readlink("/etc/localtime")
	if err != nil {
		return ""
	}
	_, name, _ := strings.Cut(to, "zoneinfo/")
	return name
}

// lookupTimeout limits the time for looking up the name of an address.
const lookupTimeout = 5 * time.Second

var reverseDNS = &fn.Function{
	Name:  "reverse_dns",
	Group: fn.System,
	Doc: "Returns the name of an IP address in the domain name system (DNS). The program waits for the answer, " +
		"up to 5 seconds.",
	Params:   []fn.Param{{Name: "value", Doc: "The address.", Kind: kind.String}},
	Returns:  kind.String,
	Fallible: true,
	Needs:    fn.Network,
	Errors:   []string{"the value is not an IP address", "the address has no name"},
	Examples: []fn.Example{
		{Title: "not permitted", Source: `reverse_dns("127.0.0.1") ?? "unknown"`, Result: `"unknown"`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		addr, err := netip.ParseAddr(v.Text())
		if err != nil {
			return f.FailErr("unable to parse ip address: ", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
		defer cancel()
		names, err := net.DefaultResolver.LookupAddr(ctx, addr.String())
		if err == nil && len(names) == 0 {
			err = errors.New("no name")
		}
		if err != nil {
			return f.FailErr("unable to perform a lookup: ", err)
		}
		return value.NewString(strings.TrimSuffix(names[0], ".")), true
	}},
}
