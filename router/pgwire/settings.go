package pgwire

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/zone"
)

// setting is a parameter of PostgreSQL's sessions.
type setting struct {
	name   string // in PostgreSQL's spelling
	report bool   // changes are reported to clients
	// value returns the initial value.
	value func(s *session) string
	// set checks a text and returns the value for it. If it is nil, the parameter cannot be changed.
	set func(s *session, text string) (string, *Error)
}

func fixed(text string) func(*session) string { return func(*session) string { return text } }

// anyText accepts every text.
func anyText(_ *session, text string) (string, *Error) { return text, nil }

// invalid returns the error for a text that is not a valid value.
func invalid(name, text string) *Error {
	return failure("22023", "invalid value for parameter %q: %q", name, excerpt(text))
}

// only accepts some texts, in any case.
func only(name string, texts ...string) func(*session, string) (string, *Error) {
	return func(_ *session, text string) (string, *Error) {
		for _, t := range texts {
			if strings.EqualFold(t, text) {
				return t, nil
			}
		}
		return "", invalid(name, text).withHint("it may be set to %s", strings.Join(texts, ", "))
	}
}

// truth accepts PostgreSQL's spellings of on and off.
func truth(name string) func(*session, string) (string, *Error) {
	return func(_ *session, text string) (string, *Error) {
		switch strings.ToLower(text) {
		case "on", "true", "t", "yes", "y", "1":
			return "on", nil
		case "off", "false", "f", "no", "n", "0":
			return "off", nil
		}
		return "", failure("22023", "parameter %q requires a Boolean value", name)
	}
}

const (
	isolation     = "read committed"
	maxExtra      = 64
	maxExtraBytes = 1 << 10
)

// settings has all parameters by their names in lower case. reportedNames are the parameters whose changes are reported
// to clients.
var (
	settings      = map[string]*setting{}
	reportedNames []string
)

func init() { // not in the declarations: some settings refer to others
	for _, s := range []*setting{
		{"server_version", true, func(s *session) string { return "15.0 (cordwood " + s.cfg.Version + ")" }, nil},
		{"server_version_num", false, fixed("150000"), nil},
		{"server_encoding", true, fixed("UTF8"), nil},
		{"client_encoding", true, fixed("UTF8"), setEncoding},
		{"integer_datetimes", true, fixed("on"), nil},
		{"is_superuser", true, fixed("off"), nil},
		{"in_hot_standby", true, fixed("off"), nil},
		{"session_authorization", true, func(s *session) string { return s.user }, nil},
		{"standard_conforming_strings", true, fixed("on"), setConforming},
		{"TimeZone", true, fixed("UTC"), setZone},
		{"DateStyle", true, fixed("ISO, MDY"), setDateStyle},
		{"IntervalStyle", true, fixed("postgres"), only("IntervalStyle", "postgres", "iso_8601")},
		{"application_name", true, fixed(""), setApplication},
		{"default_transaction_read_only", true, readOnlyOf, setReadOnly},
		{"transaction_read_only", false, transactionReadOnly, setReadOnly},
		{"search_path", false, fixed("public"), setPath},
		{"statement_timeout", false, defaultTimeout, setTimeout},
		{"extra_float_digits", false, fixed("1"), anyText},
		{"bytea_output", false, fixed("hex"), only("bytea_output", "hex")},
		{"idle_in_transaction_session_timeout", false, fixed("0"), anyText},
		{"lock_timeout", false, fixed("0"), anyText},
		{"password_encryption", false, fixed("scram-sha-256"), only("password_encryption", "scram-sha-256")},
		{"max_identifier_length", false, fixed("63"), nil},
		{"max_index_keys", false, fixed("32"), nil},
		{"block_size", false, fixed("8192"), nil},
		{"transaction_isolation", false, fixed(isolation), setIsolation},
		{"default_transaction_isolation", false, fixed(isolation), setIsolation},
		{"default_transaction_deferrable", false, fixed("off"), truth("default_transaction_deferrable")},
		{"transaction_deferrable", false, fixed("off"), truth("transaction_deferrable")},
		{"lc_collate", false, fixed("C"), nil},
		{"lc_ctype", false, fixed("C.UTF-8"), nil},
		{"lc_messages", false, fixed("C"), anyText},
		{"lc_monetary", false, fixed("C"), anyText},
		{"lc_numeric", false, fixed("C"), anyText},
		{"lc_time", false, fixed("C"), anyText},
		{"cordwood.allow_partial", false, fixed("off"), truth("cordwood.allow_partial")},
		{"cordwood.max_staleness", false, fixed("0"), setStaleness},
	} {
		name := strings.ToLower(s.name)
		settings[name] = s
		if s.report {
			reportedNames = append(reportedNames, name)
		}
	}
	slices.Sort(reportedNames)
}

// harmless are PostgreSQL settings that are accepted and ignored: they would change nothing here.
var harmless = func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(`allow_system_table_mods array_nulls backend_flush_after backslash_quote
		check_function_bodies client_connection_check_interval client_min_messages commit_delay compute_query_id
		constraint_exclusion cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost cursor_tuple_fraction
		deadlock_timeout debug_print_plan default_statistics_target default_table_access_method default_tablespace
		default_text_search_config default_toast_compression effective_cache_size effective_io_concurrency
		enable_async_append enable_bitmapscan enable_gathermerge enable_hashagg enable_hashjoin enable_incremental_sort
		enable_indexonlyscan enable_indexscan enable_material enable_memoize enable_mergejoin enable_nestloop
		enable_parallel_append enable_parallel_hash enable_partition_pruning enable_partitionwise_aggregate
		enable_partitionwise_join enable_seqscan enable_sort enable_tidscan escape_string_warning
		force_parallel_mode from_collapse_limit geqo gin_fuzzy_search_limit hash_mem_multiplier
		idle_session_timeout jit jit_above_cost join_collapse_limit lo_compat_privileges log_duration
		log_min_duration_statement log_min_error_statement log_min_messages log_statement logical_decoding_work_mem
		maintenance_work_mem max_parallel_workers max_parallel_workers_per_gather parallel_leader_participation
		parallel_setup_cost parallel_tuple_cost plan_cache_mode quote_all_identifiers
		random_page_cost recursive_worktable_factor row_security seq_page_cost session_replication_role
		synchronize_seqscans synchronous_commit temp_buffers temp_tablespaces tcp_keepalives_count tcp_keepalives_idle
		tcp_keepalives_interval tcp_user_timeout track_activities vacuum_cost_delay wal_compression work_mem
		xmlbinary xmloption`) {
		m[name] = true
	}
	return m
}()

func unknownSetting(name string) *Error {
	return failure("42704", "unrecognized configuration parameter %q", excerpt(name))
}

// check returns the name of a setting in lower case, and the value for a text. The name is empty if the setting is
// accepted and ignored.
func (s *session) check(name, text string) (canonical, val string, err *Error) {
	name = strings.ToLower(name)
	switch known := settings[name]; {
	case known != nil && known.set == nil:
		return "", "", failure("55P02", "parameter %q cannot be changed", known.name)
	case len(text) > maxExtraBytes:
		return "", "", failure("54000", "parameter %q: its value has %d bytes; %d are allowed", excerpt(name), len(text),
			maxExtraBytes)
	case known != nil:
		val, err = known.set(s, text)
		return name, val, err
	case harmless[name]:
		return "", "", nil
	case strings.Contains(name, ".") && len(name) <= 63:
		if s.get(name) == "" && max(len(s.values), len(s.local)) >= maxExtra {
			return "", "", failure("54000", "too many parameters are set; %d are allowed", maxExtra)
		}
		return name, text, nil
	}
	return "", "", unknownSetting(name)
}

func setEncoding(_ *session, text string) (string, *Error) {
	switch strings.ToUpper(strings.Trim(text, "'")) {
	case "UTF8", "UTF-8", "UNICODE", "SQL_ASCII":
		return "UTF8", nil
	}
	return "", invalid("client_encoding", text).withHint("the encoding is UTF8")
}

func setConforming(s *session, text string) (string, *Error) {
	v, err := truth("standard_conforming_strings")(s, text)
	if err == nil && v == "off" {
		return "", unsupported("standard_conforming_strings cannot be off")
	}
	return v, err
}

// setZone accepts every known time zone. Values are always in UTC.
func setZone(_ *session, text string) (string, *Error) {
	switch strings.ToLower(text) {
	case "default", "local":
		return "UTC", nil
	}
	if _, err := zone.Load(text); err == nil {
		return "UTC", nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > -24 && n < 24 {
		return "UTC", nil
	}
	if rest, found := strings.CutPrefix(strings.ToUpper(text), "GMT"); found {
		if _, err := zone.Load(rest); err == nil || rest == "" {
			return "UTC", nil
		}
	}
	return "", invalid("TimeZone", text)
}

// setDateStyle accepts ISO, with any order of day and month, which ISO does not use.
func setDateStyle(_ *session, text string) (string, *Error) {
	order := "MDY"
	for word := range strings.SplitSeq(strings.ToUpper(text), ",") {
		switch word = strings.TrimSpace(word); word {
		case "ISO", "DEFAULT":
		case "MDY", "DMY", "YMD":
			order = word
		default:
			return "", invalid("DateStyle", text).withHint("dates are written as ISO has them")
		}
	}
	return "ISO, " + order, nil
}

// setApplication removes the characters that cannot be printed.
func setApplication(_ *session, text string) (string, *Error) {
	out := []byte(text)
	for i, b := range out {
		if b < ' ' || b > '~' {
			out[i] = '?'
		}
	}
	return string(out[:min(len(out), 63)]), nil
}

func readOnlyOf(s *session) string {
	if s.readOnly {
		return "on"
	}
	return "off"
}

func transactionReadOnly(s *session) string {
	if s.state != outside && s.reading {
		return "on"
	}
	return s.get("default_transaction_read_only")
}

func setReadOnly(s *session, text string) (string, *Error) {
	v, err := truth("default_transaction_read_only")(s, text)
	if err == nil && v == "off" && s.readOnly {
		return "", failure("42501", "the user %s may only read", s.user)
	}
	return v, err
}

// setPath checks the syntax of a search path.
func setPath(_ *session, text string) (string, *Error) {
	if len(text) > maxExtraBytes {
		return "", invalid("search_path", text)
	}
	return text, nil
}

// pathNames returns the names in a search path.
func pathNames(path string) (names []string) {
	for name := range strings.SplitSeq(path, ",") {
		name = strings.TrimSpace(name)
		if inner, quoted := strings.CutPrefix(name, `"`); quoted {
			name = strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `""`, `"`)
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

func defaultTimeout(s *session) string {
	return strconv.FormatInt(s.cfg.Timeout.Milliseconds(), 10) + "ms"
}

func setTimeout(s *session, text string) (string, *Error) {
	d, err := parseSpan(text)
	if err != nil {
		return "", invalid("statement_timeout", text).withHint("write a number of milliseconds, or one with ms, s, min or h")
	}
	if d > s.cfg.MaxTimeout {
		return "", failure("22023", "statement_timeout can be at most %s", s.cfg.MaxTimeout).
			withHint("the limit is --query-max-timeout")
	}
	if d == 0 {
		return "0", nil
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms", nil
}

// setStaleness sets how old rows may be so that any replica may answer.
func setStaleness(_ *session, text string) (string, *Error) {
	d, err := parseSpan(text)
	if err != nil || d != 0 && (d < 2*time.Second || d > 24*time.Hour) {
		return "", invalid("cordwood.max_staleness", text).withHint("it may be 0, or from 2s to 24h")
	}
	return text, nil
}

// spanUnits are the units of times in settings.
var spanUnits = map[string]time.Duration{
	"": time.Millisecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "min": time.Minute,
	"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// parseSpan parses a number of milliseconds, or a number with a unit.
func parseSpan(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	n, err := strconv.ParseInt(digits, 10, 32)
	unit, known := spanUnits[strings.TrimSpace(text[len(digits):])]
	if err != nil || !known || n < 0 {
		return 0, strconv.ErrSyntax
	}
	return time.Duration(n) * unit, nil
}

// setIsolation accepts the isolation levels, which have no effect.
func setIsolation(_ *session, text string) (string, *Error) {
	return only("transaction_isolation", "read uncommitted", isolation, "repeatable read", "serializable")(nil, text)
}
