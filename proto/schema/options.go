package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/words"
)

// The names of table options.
const (
	OptionTTL           = "ttl"
	OptionAppendMode    = "append_mode"
	OptionMergeMode     = "merge_mode"
	OptionSkipWAL       = "skip_wal"
	OptionPhysicalTable = "physical_table"
	OptionComment       = "comment"
	OptionSSTFormat     = "sst_format"
	// OptionPartitions is the number of shards that take the writes of a table, or PartitionsAuto.
	OptionPartitions = "partitions"
	// OptionOnTypeConflict determines what happens to a value whose type differs from its column's.
	OptionOnTypeConflict = "on_type_conflict"
	// OptionMessageColumn is the name of the column that searches and pages show as the line of a
	// row. Only statements can set it, since the table must have the column.
	OptionMessageColumn = "message_column"
	// OptionLokiLabels lists columns, separated by commas, that Loki's API shows as labels in addition to
	// the tags. Only statements can set it.
	OptionLokiLabels = "loki_labels"
	// OptionCold is false if old rows of the table stay on local disks although the servers have object storage. Only
	// statements can set it.
	OptionCold = "cold"
	// OptionLocalFor is how long the table's rows stay on local disks although they are in object storage, instead of the
	// setting of the servers. Only statements can set it.
	OptionLocalFor = "local_for"
	// OptionMaxSize is the size of the table's files and objects above which its oldest rows expire. Only statements can
	// set it.
	OptionMaxSize = "max_size"
	// OptionIceberg is the version of Apache Iceberg's format in which the table's rows in object storage are shown to
	// other engines, v2 or v3. Only statements can set it.
	OptionIceberg = "iceberg"
	// OptionIcebergNames is IcebergUnderscore if dots in names of columns are shown as underscores. Only statements can
	// set it.
	OptionIcebergNames = "iceberg_names"
	// OptionAutoCreateTable is given with a write and is not a property of a table: StoredOptions
	// leaves it out.
	OptionAutoCreateTable = "auto_create_table"
)

// The values of OptionMergeMode.
const (
	MergeLastRow     = "last_row"
	MergeLastNonNull = "last_non_null"
)

// IcebergDaily is the value of OptionIceberg of tables that merge rows: days are shown once they were joined.
const IcebergDaily = "daily"

// IcebergUnderscore is the value of OptionIcebergNames.
const IcebergUnderscore = "underscore"

// PartitionsAuto lets the cluster choose the number of partitions: it adds one whenever the table
// is hot.
const PartitionsAuto = "auto"

// maxPartitions is the maximum number of shards of one table.
const maxPartitions = 256

// CreatedOnInsertion is the comment of tables that a write created.
const CreatedOnInsertion = "Created on insertion"

const maxCommentBytes = 4096

// maxLokiLabels is the maximum number of columns in OptionLokiLabels.
const maxLokiLabels = 32

var optionNames = []string{
	OptionAppendMode, OptionAutoCreateTable, OptionCold, OptionComment, OptionIceberg, OptionIcebergNames,
	OptionLocalFor, OptionLokiLabels, OptionMaxSize, OptionMergeMode, OptionMessageColumn, OptionOnTypeConflict,
	OptionPartitions, OptionPhysicalTable, OptionSkipWAL, OptionSSTFormat, OptionTTL,
}

// tableOptions are the options that a table stores.
var tableOptions = slices.DeleteFunc(slices.Clone(optionNames),
	func(name string) bool { return name == OptionAutoCreateTable })

// hintNames are the options that can be given with a write.
var hintNames = slices.DeleteFunc(slices.Clone(optionNames),
	func(name string) bool { return slices.Contains(StatementOptions, name) })

// StatementOptions are the options that only statements can set.
var StatementOptions = []string{
	OptionMessageColumn, OptionLokiLabels, OptionCold, OptionLocalFor, OptionMaxSize, OptionIceberg, OptionIcebergNames,
}

// HintNames lists the options that HintName knows, by their own names.
func HintNames() []string { return slices.Clone(hintNames) }

// TableOptionNames returns the options that a table stores.
func TableOptionNames() []string { return slices.Clone(tableOptions) }

// OptionValues returns the possible values of an option, or nil if they are not a list of words.
func OptionValues(name string) []string {
	switch name {
	case OptionAppendMode, OptionSkipWAL, OptionAutoCreateTable, OptionCold:
		return []string{"true", "false"}
	case OptionMergeMode:
		return []string{MergeLastRow, MergeLastNonNull}
	case OptionOnTypeConflict:
		return []string{"widen", "error", "cast", "aside"}
	case OptionSSTFormat:
		return []string{"flat", "primary_key"}
	case OptionIceberg:
		return []string{"v2", "v3", IcebergDaily}
	case OptionIcebergNames:
		return []string{IcebergUnderscore}
	case OptionPartitions:
		return []string{PartitionsAuto}
	}
	return nil
}

// OptionName returns the option for a name in a pipeline variable, a header hint or SQL: the
// option's own name, optionally after `svc_`, or the alias `table_ttl`.
func OptionName(name string) (option string, ok bool) {
	name = strings.TrimPrefix(name, "svc_")
	if name == "table_ttl" {
		return OptionTTL, true
	}
	if slices.Contains(optionNames, name) {
		return name, true
	}
	return "", false
}

// HintName does what OptionName does, for the options that are given with a write, by a hint or a
// pipeline variable.
func HintName(name string) (option string, ok bool) {
	if option, ok = OptionName(name); !ok || !slices.Contains(hintNames, option) {
		return "", false
	}
	return option, true
}

// NormalizeOption returns the text in which the option's value is stored and shown: `1day` for the
// ttl `1d`, `true` for `TRUE`. Its errors, for an unknown key or a bad value, have code
// InvalidArguments and contain both.
func NormalizeOption(key, value string) (string, error) {
	switch key {
	case OptionTTL:
		t, why := parseTTL(value)
		if why != "" {
			return "", optionError(key, value, why)
		}
		return t.String(), nil
	case OptionLocalFor:
		t, why := parseTTL(value)
		if why == "" && t.Instant {
			why = "want a duration, or forever"
		}
		if why != "" {
			return "", optionError(key, value, why)
		}
		return t.String(), nil
	case OptionAppendMode, OptionSkipWAL, OptionCold:
		return normalizeBool(key, value, "want true or false")
	case OptionAutoCreateTable:
		return normalizeBool(key, value, "auto_create_table hint must be a boolean, true or false")
	case OptionMergeMode:
		if value != MergeLastRow && value != MergeLastNonNull {
			return "", optionError(key, value, "want last_row or last_non_null")
		}
	case OptionOnTypeConflict:
		if conflictRules[value] == 0 {
			return "", optionError(key, value, "want widen, error, cast or aside")
		}
	case OptionSSTFormat:
		if value != "flat" && value != "primary_key" {
			return "", optionError(key, value, "want flat or primary_key")
		}
	case OptionIceberg:
		switch value {
		case "v2", "v3", IcebergDaily:
		default:
			return "", optionError(key, value, "want v2, v3 or daily")
		}
	case OptionIcebergNames:
		if value != IcebergUnderscore {
			return "", optionError(key, value, "want underscore")
		}
	case OptionPartitions:
		if strings.EqualFold(value, PartitionsAuto) {
			return PartitionsAuto, nil
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxPartitions {
			return "", optionError(key, value, "want auto or a number from 1 to "+strconv.Itoa(maxPartitions))
		}
		return strconv.Itoa(n), nil
	case OptionPhysicalTable:
		// The value is only recorded, so any name is allowed.
		if len(value) > MaxNameBytes || !utf8.ValidString(value) {
			return "", optionError(key, value, "want a name of at most "+strconv.Itoa(MaxNameBytes)+" bytes")
		}
	case OptionMessageColumn:
		if err := CheckColumnName(value); err != nil {
			return "", optionError(key, value, "want the name of a column of texts")
		}
	case OptionLokiLabels:
		return normalizeLabels(value)
	case OptionMaxSize:
		n, ok := words.ParseBytes(value)
		if !ok || n != 0 && n < minMaxSize {
			return "", optionError(key, value, "want a size of at least 1MiB, such as 100GiB, or 0 for no limit")
		}
		return words.FormatBytes(n), nil
	case OptionComment:
		if len(value) > maxCommentBytes {
			return "", optionError(key, value, "at most "+strconv.Itoa(maxCommentBytes)+" bytes are allowed")
		}
		if !utf8.ValidString(value) {
			return "", optionError(key, value, "it is not valid UTF-8")
		}
	default:
		return "", errs.New(errs.InvalidArguments, "Unknown table option, key: %s%s; known are %s", quoteShort(key),
			nearest.DidYouMean(", ", key, tableOptions), strings.Join(tableOptions, ", "))
	}
	return value, nil
}

// normalizeLabels checks a list of columns for OptionLokiLabels, and removes spaces and repetitions.
func normalizeLabels(value string) (string, error) {
	var names []string
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		if err := CheckColumnName(name); err != nil {
			return "", optionError(OptionLokiLabels, value, "want names of columns, separated by commas")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxLokiLabels {
		return "", optionError(OptionLokiLabels, value, "at most "+strconv.Itoa(maxLokiLabels)+" columns are allowed")
	}
	return strings.Join(names, ","), nil
}

// minMaxSize is the smallest OptionMaxSize.
const minMaxSize = 1 << 20

// MaxSize returns the bytes of OptionMaxSize, or 0 for no limit.
func MaxSize(options map[string]string) int64 {
	n, _ := words.ParseBytes(options[OptionMaxSize])
	return n
}

// LocalFor returns how long rows stay on local disks too by OptionLocalFor, 0 for as long as they live. It reports
// false if the option is not set.
func LocalFor(options map[string]string) (time.Duration, bool) {
	text := options[OptionLocalFor]
	if text == "" {
		return 0, false
	}
	t, err := ParseTTL(text)
	return t.D, err == nil
}

// LokiLabels returns the columns that OptionLokiLabels lists.
func LokiLabels(options map[string]string) []string {
	if options[OptionLokiLabels] == "" {
		return nil
	}
	return strings.Split(options[OptionLokiLabels], ",")
}

func normalizeBool(key, value, want string) (string, error) {
	switch {
	case strings.EqualFold(value, "true"):
		return "true", nil
	case strings.EqualFold(value, "false"):
		return "false", nil
	}
	return "", optionError(key, value, want)
}

func optionError(key, value, why string) error {
	shown := value
	if len(shown) > 80 {
		shown = strings.ToValidUTF8(shown[:80], "") + "…"
	}
	return errs.New(errs.InvalidArguments, "Failed to parse table option, key: %s, value: %s (%s)", key, shown, why)
}

// ValidateOptions normalises options in place and checks rules about several options:
// merge_mode=last_non_null needs append_mode=false, which is set if append_mode is not given.
// Errors have code InvalidArguments.
func ValidateOptions(options map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		value, err := NormalizeOption(key, options[key])
		if err != nil {
			return err
		}
		options[key] = value
	}
	if options[OptionMergeMode] == MergeLastNonNull {
		switch options[OptionAppendMode] {
		case "true":
			return errs.New(errs.InvalidArguments,
				"Invalid table options, merge_mode: last_non_null with append_mode: true; only last_row is allowed "+
					"with append mode. Set append_mode to false")
		case "":
			options[OptionAppendMode] = "false"
		}
	}
	return CheckIceberg(options)
}

// CheckIceberg refuses OptionIceberg for tables that cannot be shown. options are all that the table has.
func CheckIceberg(options map[string]string) error {
	value := options[OptionIceberg]
	if value == "" {
		return nil
	}
	switch keeps := options[OptionAppendMode] == "true"; {
	case value == IcebergDaily && keeps:
		return errs.New(errs.InvalidArguments, "Invalid table options, iceberg: daily with append_mode: true; daily is for "+
			"tables that merge rows, use v2 or v3")
	case value != IcebergDaily && !keeps:
		return errs.New(errs.InvalidArguments, "Invalid table options, iceberg: %s without append_mode: true; tables that "+
			"merge rows can be shown as Iceberg with daily", value)
	}
	if options[OptionCold] == "false" {
		return errs.New(errs.InvalidArguments, "Invalid table options, iceberg: %s with cold: false; Iceberg shows rows in "+
			"object storage", value)
	}
	return nil
}

// StoredOptions returns the options with which a table is created: a validated copy of options
// without those that are not properties of a table. For a table that a log write creates,
// append_mode becomes true unless it is among the options, and the comment mentions it. options may
// be nil.
func StoredOptions(options map[string]string, logWrite bool) (map[string]string, error) {
	stored := maps.Clone(options)
	if stored == nil {
		stored = map[string]string{}
	}
	if err := ValidateOptions(stored); err != nil {
		return nil, err
	}
	delete(stored, OptionAutoCreateTable)
	if logWrite {
		if stored[OptionAppendMode] == "" {
			stored[OptionAppendMode] = "true"
		}
		if stored[OptionComment] == "" {
			stored[OptionComment] = CreatedOnInsertion
		}
	}
	return stored, nil
}

// NoKeyWarning describes the effect on the rows of a table that merges rows and has no primary key.
func NoKeyWarning(table, mergeMode string) string {
	what := "only the last is shown"
	if mergeMode == MergeLastNonNull {
		what = "one is shown, with the last value of each column that is not null"
	}
	return table + " has no primary key and append_mode is false: of rows with the same time " + what
}

// CheckPartitions refuses options of a table that merges rows and has several shards, because old
// programs do not support them. Its error has code InvalidArguments.
func CheckPartitions(options map[string]string) error {
	if n := options[OptionPartitions]; n != "" && n != "1" && options[OptionAppendMode] != "true" {
		return errs.New(errs.InvalidArguments,
			"Invalid table options, partitions: %s without append_mode: true; that is possible once all nodes are "+
				"upgraded. Until then set append_mode to true or partitions to 1", n)
	}
	return nil
}

// AppendMode reports whether t keeps all rows of an identity.
func (t *Table) AppendMode() bool { return t.Options[OptionAppendMode] == "true" }

// MergeMode returns the rule by which rows of one identity are merged: MergeLastRow or
// MergeLastNonNull. It has no meaning in append mode.
func (t *Table) MergeMode() string {
	if m := t.Options[OptionMergeMode]; m != "" {
		return m
	}
	return MergeLastRow
}

// OptionAuditReads is the option of a database whose tables' readers are recorded.
const OptionAuditReads = "audit.reads"

// DatabaseOption returns the value of an option of a database, which is no quota, as it is stored.
func DatabaseOption(key, value string) (string, error) {
	switch {
	case key == OptionTTL:
		return DatabaseTTL(value)
	case key != OptionAuditReads:
		return "", errs.New(errs.InvalidArguments, "unknown option %q; a database only has the options ttl and audit.reads, "+
			"and quotas, which ALTER DATABASE sets", key)
	}
	on, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		return "", errs.New(errs.InvalidArguments, "option %s is %.40q: it must be true or false", key, value)
	}
	return strconv.FormatBool(on), nil
}

// MinAuditTTL is the shortest ttl of svc_private.audit, and DefaultAuditTTL the one with which it is created.
const (
	MinAuditTTL     = 30 * 24 * time.Hour
	DefaultAuditTTL = "365d"
)

// CheckAuditTTL refuses a ttl by which audit records would be removed too early.
func CheckAuditTTL(text string) error {
	ttl, err := ParseTTL(text)
	if err == nil && !ttl.Forever && (ttl.Instant || ttl.D < MinAuditTTL) {
		err = errs.New(errs.InvalidArguments, "The ttl of %s.%s must be at least 30d, and not %s", PrivateDatabase,
			AuditTable, text)
	}
	return err
}
