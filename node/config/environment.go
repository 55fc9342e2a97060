package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"cordwood/proto/lazyregexp"
	"cordwood/proto/nearest"
)

// commandVariables have the prefix of settings but are not settings. They are for commands that connect to a server,
// for the files for Docker Compose, and, with the password, for configurations of other senders that the page shows.
var commandVariables = []string{
	"CORDWOOD_ADMIN", "CORDWOOD_CONFIG", "CORDWOOD_HISTORY", "CORDWOOD_IMAGE", "CORDWOOD_PASSWORD", "CORDWOOD_SERVER",
	"CORDWOOD_TOKEN", "CORDWOOD_USER",
}

// testVariable matches the variables of this project's tests, which servers under test inherit. The program ignores
// them, and errors do not suggest them.
var testVariable = lazyregexp.New(
	`^CORDWOOD_(TEST_.*|BIN|CHAOS|CHAOS_ROUNDS|CHAOS_ROWS|CRASH_ROUNDS|OLD_BIN|OLD_REV)$`)

// serviceVariable matches the variables in which Kubernetes, and links of Docker, pass the addresses of services to a
// container. A service with the name cordwood, or cordwood-headless, gives names with our prefix. The form NAME_PORT
// matches only if its value is a URL, because a user may set CORDWOOD_HTTP_PORT instead of CORDWOOD_HTTP_ADDR.
var (
	serviceVariable = lazyregexp.New(
		`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	servicePort = lazyregexp.New(`_PORT=(tcp|udp|sctp)://`)
)

// CheckEnvironment returns an error for unknown variables with EnvPrefix, and suggests the most similar known one.
// environ is os.Environ().
func CheckEnvironment(environ []string) error {
	var settings Config
	fs := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	settings.Flags(fs)
	known := slices.Clone(commandVariables)
	fs.VisitAll(func(f *pflag.Flag) { known = append(known, EnvName(f.Name)) })
	slices.Sort(known)
	ends := make([]string, len(known)) // without the common prefix
	for i, name := range known {
		ends[i] = strings.TrimPrefix(name, EnvPrefix)
	}
	var faults []error
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(variable, "=")
		end := strings.TrimPrefix(name, EnvPrefix)
		flag := strings.ToLower(strings.ReplaceAll(end, "_", "-"))
		if !strings.HasPrefix(name, EnvPrefix) || testVariable.MatchString(name) || slices.Contains(known, name) ||
			Removed(flag) != "" ||
			serviceVariable.MatchString(name) || servicePort.MatchString(variable) {
			continue
		}
		like := nearest.Name(end, ends)
		if like == "" {
			faults = append(faults, fmt.Errorf("environment variable %s is not known and would have no effect: "+
				"remove it ('cordwood serve --help' lists the settings)", name))
		} else {
			faults = append(faults,
				fmt.Errorf("environment variable %s is not known and would have no effect: did you mean %s?", name,
					EnvPrefix+like))
		}
	}
	return errors.Join(faults...)
}
