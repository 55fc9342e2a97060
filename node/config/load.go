package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"cordwood/proto/nearest"
)

// groups are the first words of flag names that become a level in YAML: the flag --http-addr is the
// key http.addr.
var groups = map[string]bool{
	"http": true, "rpc": true, "tls": true, "query": true, "shard": true, "log": true, "trace": true,
	"object-storage": true, "oidc": true,
}

// EnvPrefix is the prefix of the environment variable of every setting.
const EnvPrefix = "CORDWOOD_"

// Load sets the settings of fs that were not given as flags, from the environment, and then from the YAML file if
// file is not empty. A flag takes precedence over the environment, the environment over the file, and the file over
// the default. lookup is os.LookupEnv.
func Load(fs *pflag.FlagSet, file string, lookup func(string) (string, bool)) error {
	var faults []error
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Changed || commandFlags[f.Name] {
			return
		}
		name := EnvName(f.Name)
		if v, ok := lookup(name); ok {
			if err := fs.Set(f.Name, v); err != nil {
				faults = append(faults, fmt.Errorf("environment variable %s=%s", name, ValueFault(f, v, err)))
			}
		}
	})
	for _, gone := range removed {
		if _, ok := lookup(EnvName(gone.flag)); ok {
			faults = append(faults, fmt.Errorf("environment variable %s: %s", EnvName(gone.flag), gone.instead))
		}
	}
	if file != "" {
		values, err := readYAML(file)
		if err != nil {
			return err
		}
		for _, kv := range values {
			name := strings.ReplaceAll(kv.key, ".", "-")
			f := fs.Lookup(name)
			switch {
			case Removed(name) != "":
				faults = append(faults, fmt.Errorf("%s:%d: %s: %s", file, kv.line, kv.key, Removed(name)))
			case f == nil || commandFlags[name]:
				faults = append(faults, fmt.Errorf("%s:%d: unknown key %q%s", file, kv.line, kv.key, keySuggestion(fs, kv.key)))
			case f.Changed:
			default:
				if err := fs.Set(name, kv.value); err != nil {
					faults = append(faults, fmt.Errorf("%s:%d: %s: %s", file, kv.line, kv.key, ValueFault(f, kv.value, err)))
				}
			}
		}
	}
	return errors.Join(faults...)
}

// commandFlags are the flags of the command itself, which neither the file nor the environment
// sets.
var commandFlags = map[string]bool{"config": true, "print-config": true, "help": true}

// removed lists settings of earlier versions, with advice.
var removed = []struct{ flag, instead string }{
	{"http-enable-cors", "this setting was removed: pages of other sites are refused unless --http-cors-allowed-origins " +
		"(http.cors-allowed-origins) lists their origins; delete the setting"},
	{
		"http-protect-config",
		"this setting was removed: once there are users, only those that may read see /config; delete the setting",
	},
}

// Removed returns advice about a setting of an earlier version. It is empty for any other name.
func Removed(flag string) string {
	for _, r := range removed {
		if r.flag == flag {
			return r.instead
		}
	}
	return ""
}

// EnvName returns the environment variable of a flag: CORDWOOD_HTTP_ADDR for http-addr.
func EnvName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Key returns the YAML key of a flag: http.addr for http-addr.
func Key(flag string) string {
	for i, c := range flag {
		if c == '-' && groups[flag[:i]] {
			return flag[:i] + "." + flag[i+1:]
		}
	}
	return flag
}

type yamlValue struct {
	key, value string
	line       int
}

// readYAML flattens the file's maps to dotted keys, in the order of the file.
func readYAML(file string) ([]yamlValue, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, fmt.Errorf("read configuration %s: %w", file, err)
	}
	var out []yamlValue
	var walk func(prefix string, n *yaml.Node) error
	walk = func(prefix string, n *yaml.Node) error {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				key := n.Content[i].Value
				if prefix != "" {
					key = prefix + "." + key
				}
				if err := walk(key, n.Content[i+1]); err != nil {
					return err
				}
			}
		case yaml.SequenceNode:
			var list []string
			for _, e := range n.Content {
				if e.Kind != yaml.ScalarNode {
					return fmt.Errorf("%s:%d: %s: want a list of strings", file, e.Line, prefix)
				}
				list = append(list, e.Value)
			}
			out = append(out, yamlValue{prefix, strings.Join(list, ","), n.Line})
		case yaml.ScalarNode:
			value := n.Value
			if n.Tag == "!!null" {
				value = ""
			}
			out = append(out, yamlValue{prefix, value, n.Line})
		default:
			return fmt.Errorf("%s:%d: %s: anchors and aliases are not supported", file, n.Line, prefix)
		}
		return nil
	}
	if root := doc.Content[0]; root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: want keys and values, such as http.addr: 127.0.0.1:4000", file, root.Line)
	}
	return out, walk("", doc.Content[0])
}

// hidden returns the value of a setting for output. It masks a secret.
func hidden(name, value string) string {
	if name == "user-provider" && strings.Contains(value, ":cmd:") {
		return "static_user_provider:cmd:(hidden)"
	}
	return value
}

// settings returns the effective configuration as nested maps, with secrets masked.
func settings(fs *pflag.FlagSet) map[string]any {
	out := map[string]any{}
	fs.VisitAll(func(f *pflag.Flag) {
		if commandFlags[f.Name] {
			return
		}
		var v any = hidden(f.Name, f.Value.String())
		switch f.Value.Type() {
		case "bool":
			v = f.Value.String() == "true"
		case "int":
			n, err := fs.GetInt(f.Name)
			if err == nil {
				v = n
			}
		case "float64":
			x, err := fs.GetFloat64(f.Name)
			if err == nil {
				v = x
			}
		case "stringSlice":
			list, err := fs.GetStringSlice(f.Name)
			if err == nil {
				v = list
			}
		}
		m := out
		if group, rest, ok := strings.Cut(Key(f.Name), "."); ok {
			if out[group] == nil {
				out[group] = map[string]any{}
			}
			m, _ = out[group].(map[string]any)
			m[rest] = v
			return
		}
		m[f.Name] = v
	})
	return out
}

// YAML returns the effective configuration as a file for --config.
func YAML(fs *pflag.FlagSet) (string, error) {
	b, err := yaml.Marshal(settings(fs))
	return string(b), err
}

// TOML returns the effective configuration as GET /config shows it.
func TOML(fs *pflag.FlagSet) (string, error) {
	var b strings.Builder
	err := toml.NewEncoder(&b).Encode(settings(fs))
	return b.String(), err
}

// keySuggestion returns the end of an error about an unknown key of the YAML file.
func keySuggestion(fs *pflag.FlagSet, key string) string {
	var known []string
	fs.VisitAll(func(f *pflag.Flag) {
		if !commandFlags[f.Name] {
			known = append(known, Key(f.Name))
		}
	})
	if like := nearest.DidYouMean(": ", key, known); like != "" {
		return like
	}
	return ": 'cordwood serve --help' lists all settings"
}
