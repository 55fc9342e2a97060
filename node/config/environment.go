package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"cordwood/proto/nearest"
)

// otherVariables begin as those of settings do, and are none: commands that talk to a server read
// the first ones, the files for Docker Compose and the tests of this project the others.
var otherVariables = []string{
	"CORDWOOD_ADMIN", "CORDWOOD_CONFIG", "CORDWOOD_HISTORY", "CORDWOOD_MACHINE", "CORDWOOD_SERVER", "CORDWOOD_USER",
	"CORDWOOD_BIN", "CORDWOOD_CHAOS", "CORDWOOD_CHAOS_ROUNDS", "CORDWOOD_CRASH_ROUNDS", "CORDWOOD_IMAGE",
	"CORDWOOD_OLD_BIN", "CORDWOOD_OLD_REV",
}

// testVariable begins the variables of this project's tests.
const testVariable = EnvPrefix + "TEST_"

// serviceVariable is the form of the variables by which Kubernetes, and links of Docker, tell a
// container where services are. A service that is called cordwood, or cordwood-headless, gives
// names that begin as ours do. The form NAME_PORT is one only if its value is a URL: a person may
// have meant --http-addr by CORDWOOD_HTTP_PORT.
var (
	serviceVariable = regexp.MustCompile(
		`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	servicePort = regexp.MustCompile(`_PORT=(tcp|udp|sctp)://`)
)

// CheckEnvironment refuses variables that begin with EnvPrefix and that nothing reads, with the
// nearest one that something does. environ is os.Environ().
func CheckEnvironment(environ []string) error {
	var settings Config
	fs := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	settings.Flags(fs)
	known := slices.Clone(otherVariables)
	fs.VisitAll(func(f *pflag.Flag) { known = append(known, EnvName(f.Name)) })
	slices.Sort(known)
	ends := make([]string, len(known)) // what all begin with says nothing of likeness
	for i, name := range known {
		ends[i] = strings.TrimPrefix(name, EnvPrefix)
	}
	var faults []error
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(variable, "=")
		end := strings.TrimPrefix(name, EnvPrefix)
		flag := strings.ToLower(strings.ReplaceAll(end, "_", "-"))
		if !strings.HasPrefix(name, EnvPrefix) || strings.HasPrefix(name, testVariable) ||
			slices.Contains(known, name) || Removed(flag) != "" ||
			serviceVariable.MatchString(name) || servicePort.MatchString(variable) {
			continue
		}
		like := nearest.Name(end, ends)
		if like == "" {
			faults = append(faults, fmt.Errorf("environment variable %s is not known, and would have no effect: "+
				"remove it ('cordwood serve --help' lists the settings)", name))
		} else {
			faults = append(faults,
				fmt.Errorf("environment variable %s is not known, and would have no effect: did you mean %s?", name,
					EnvPrefix+like))
		}
	}
	return errors.Join(faults...)
}
