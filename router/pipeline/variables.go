package pipeline

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// The variables: top-level fields that are removed from a record before it is stored.
const (
	varAutoCreate = iota
	varTTL
	varTableTTL // alias of varTTL, which takes precedence
	varAppendMode
	varMergeMode
	varPhysicalTable
	varSkipWAL
	varOnTypeConflict
	varSuffix
	varCount
)

var variableNames = [varCount]string{
	varAutoCreate:     "svc_auto_create_table",
	varTTL:            "svc_ttl",
	varTableTTL:       "svc_table_ttl",
	varAppendMode:     "svc_append_mode",
	varMergeMode:      "svc_merge_mode",
	varPhysicalTable:  "svc_physical_table",
	varSkipWAL:        "svc_skip_wal",
	varOnTypeConflict: "svc_on_type_conflict",
	varSuffix:         "svc_table_suffix",
}

var variableOptions = [varCount]string{
	varAutoCreate:     schema.OptionAutoCreateTable,
	varTTL:            schema.OptionTTL,
	varTableTTL:       schema.OptionTTL,
	varAppendMode:     schema.OptionAppendMode,
	varMergeMode:      schema.OptionMergeMode,
	varPhysicalTable:  schema.OptionPhysicalTable,
	varSkipWAL:        schema.OptionSkipWAL,
	varOnTypeConflict: schema.OptionOnTypeConflict,
}

// variableOf returns the variable for a top-level key, or -1.
func variableOf(key []byte) int {
	if len(key) < 7 || string(key[:4]) != "svc_" {
		return -1
	}
	for i, name := range variableNames {
		if string(key) == name {
			return i
		}
	}
	return -1
}

// variables has the texts of the variables that one record sets.
type variables struct {
	set  [varCount]bool
	text [varCount][]byte
}

func (v *variables) any() bool { return v.set != [varCount]bool{} }

// refused returns the error for a record that must not set variables.
func (v *variables) refused() error {
	for i, set := range v.set {
		if set {
			return &kindError{SkipOption, errs.New(errs.InvalidArguments,
				"the record sets %s, and this server lets only pipelines set table options", variableNames[i])}
		}
	}
	return nil
}

// optionSet is a combination of table options.
type optionSet struct {
	key      string // equal for equal sets
	options  map[string]string
	noCreate bool
	instant  bool
}

// hintOptions returns the hints that are options, normalised.
func hintOptions(hints map[string]string) (map[string]string, error) {
	if len(hints) == 0 {
		return nil, nil
	}
	options := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(hints)) {
		option, ok := schema.HintName(name)
		if !ok {
			continue
		}
		value, err := schema.NormalizeOption(option, hints[name])
		if err != nil {
			return nil, err
		}
		options[option] = value
	}
	return options, nil
}

// noOptions is the set for requests without options. It never changes.
var noOptions = sync.OnceValues(func() (*optionSet, error) { return makeOptionSet(nil) })

func newOptionSet(options map[string]string) (*optionSet, error) {
	if len(options) == 0 {
		return noOptions()
	}
	return makeOptionSet(options)
}

func makeOptionSet(options map[string]string) (*optionSet, error) {
	stored, err := schema.StoredOptions(options, true)
	if err != nil {
		return nil, err
	}
	set := &optionSet{
		options:  stored,
		noCreate: options[schema.OptionAutoCreateTable] == "false",
		instant:  stored[schema.OptionTTL] == "instant",
	}
	var key strings.Builder
	if set.noCreate {
		key.WriteByte('!')
	}
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		key.WriteString(name + "=" + stored[name] + "\x00")
	}
	set.key = key.String()
	return set, nil
}
