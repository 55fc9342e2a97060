package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/words"
)

// The quotas of a database. They are stored as its options.
const (
	// QuotaTables is the maximum number of tables of the database.
	QuotaTables = "quota.tables"
	// QuotaColumns is the maximum number of columns of each table of the database.
	QuotaColumns = "quota.columns"
	// QuotaRows is the number of rows that ingestion and INSERT store each second.
	QuotaRows = "quota.ingest_rows_per_second"
	// QuotaBytes is the number of bytes of decompressed bodies that ingestion takes each second.
	QuotaBytes = "quota.ingest_bytes_per_second"
	// QuotaBurst is the time whose rows and bytes may arrive at once. It is a duration.
	QuotaBurst = "quota.ingest_burst"
	// QuotaQueries is the number of queries that run at a time.
	QuotaQueries = "quota.query_concurrency"
	// QuotaCPU is the CPU time that the queries of the database use in a minute, in seconds.
	QuotaCPU = "quota.query_cpu"
	// QuotaDuration is the time limit of a query. It is a duration.
	QuotaDuration = "quota.query_duration"
	// QuotaTails is the number of tails that are open at a time.
	QuotaTails = "quota.tails"
	// QuotaStored is the number of bytes that the database stores, without copies by replication.
	QuotaStored = "quota.stored_bytes"
)

// QuotaPrefix begins the names of all quotas.
const QuotaPrefix = "quota."

// DefaultBurst is the value of QuotaBurst if the database does not have it.
const DefaultBurst = 10 * time.Second

// The limits of the quotas that are durations.
const (
	minBurst    = time.Second
	maxBurst    = time.Hour
	minDuration = time.Millisecond
	maxDuration = 24 * time.Hour
)

// maxQuota is the highest value of a quota that is a number, and maxQuotaBytes of one in bytes.
const (
	maxQuota      = 1_000_000_000
	maxQuotaBytes = 1 << 60
)

// quotaUnits has the unit of each quota that is a number. The others are durations.
var quotaUnits = map[string]string{
	QuotaTables: "tables", QuotaColumns: "columns", QuotaRows: "rows/s", QuotaBytes: "bytes/s", QuotaBurst: "",
	QuotaStored: "bytes", QuotaQueries: "queries", QuotaCPU: "CPU s/min", QuotaDuration: "",
	QuotaTails: "tails",
}

var quotaNames = slices.Sorted(maps.Keys(quotaUnits))

// QuotaNames lists the quotas in alphabetical order.
func QuotaNames() []string { return slices.Clone(quotaNames) }

// QuotaUnit returns what the values of a quota count, or "" for a duration.
func QuotaUnit(key string) string { return quotaUnits[key] }

// QuotaWait is when a client may try again after a refusal because of a quota of tables, columns or stored bytes.
// Somebody has to drop tables or raise the quota first.
const QuotaWait = time.Minute

// TooManyTables returns the error for a new table beyond the quota of its database.
func TooManyTables(database, table string, limit, value uint64) *errs.Error {
	q := errs.Quota{Database: database, Name: QuotaTables, Limit: limit, Value: value, Unit: "tables"}
	return errs.OverQuota(q, QuotaWait, "Table `%s` cannot be created: database `%s` has used up its quota of %d tables "+
		"(%s); drop tables, or ask an operator for a higher quota", TableLabel(database, table), database, limit,
		QuotaTables)
}

// TooManyColumns returns the error for a table that would have columns beyond the quota of its database.
func TooManyColumns(database, table string, limit, value uint64) *errs.Error {
	q := errs.Quota{Database: database, Name: QuotaColumns, Limit: limit, Value: value, Unit: "columns"}
	return errs.OverQuota(q, QuotaWait, "Table `%s` would have %d columns, and the quota of its database is %d for each "+
		"table (%s); send fewer fields, or ask an operator for a higher quota", TableLabel(database, table), value, limit,
		QuotaColumns)
}

// IsQuota reports whether the key of an option belongs to a quota, known or not.
func IsQuota(key string) bool { return strings.HasPrefix(key, QuotaPrefix) }

// CheckQuota returns an error of code InvalidArguments if there is no such quota.
func CheckQuota(key string) error {
	if slices.Contains(quotaNames, key) {
		return nil
	}
	return errs.New(errs.InvalidArguments, "Unknown quota %s%s; known are %s", quoteShort(key),
		nearest.DidYouMean(", ", key, quotaNames), strings.Join(quotaNames, ", "))
}

// NormalizeQuota returns the text in which the value of a quota is stored. Its errors have code InvalidArguments.
func NormalizeQuota(key, value string) (string, error) {
	if err := CheckQuota(key); err != nil {
		return "", err
	}
	switch key {
	case QuotaBurst:
		return normalizeDuration(key, value, minBurst, maxBurst)
	case QuotaDuration:
		return normalizeDuration(key, value, minDuration, maxDuration)
	}
	highest, text := uint64(maxQuota), value
	inBytes := strings.HasPrefix(quotaUnits[key], "bytes")
	if inBytes {
		highest = maxQuotaBytes
		if size, ok := words.ParseBytes(value); ok {
			text = strconv.FormatInt(size, 10)
		}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err == nil && n <= highest:
		return strconv.FormatUint(n, 10), nil
	case inBytes:
		return "", errs.New(errs.InvalidArguments, "Quota %s: value %s is not possible; give a number of bytes, also with a "+
			"unit such as 10MiB or 2GB, or remove the quota with UNSET", key, quoteShort(value))
	}
	return "", errs.New(errs.InvalidArguments, "Quota %s: value %s is not possible; give a number from 0 to %d, or "+
		"remove the quota with UNSET", key, quoteShort(value), highest)
}

// normalizeDuration returns the text of a quota that is a duration.
func normalizeDuration(key, value string, lowest, highest time.Duration) (string, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < lowest || d > highest {
		return "", errs.New(errs.InvalidArguments, "Quota %s: value %s is not possible; give a duration from %s to %s, or "+
			"remove the quota with UNSET", key, quoteShort(value), lowest, highest)
	}
	return d.String(), nil
}

// QuotaTime returns the value of QuotaDuration among the options of a database. ok is false if it does not have it.
func QuotaTime(options map[string]string) (limit time.Duration, ok bool) {
	limit, err := time.ParseDuration(options[QuotaDuration])
	return limit, err == nil
}

// Quota returns the value of a quota among the options of a database. ok is false if the database does not have it.
func Quota(options map[string]string, key string) (limit uint64, ok bool) {
	limit, err := strconv.ParseUint(options[key], 10, 64)
	return limit, err == nil
}

// WithoutQuotas returns the options of a database that are no quotas.
func WithoutQuotas(options map[string]string) map[string]string {
	out := make(map[string]string, len(options))
	for key, value := range options {
		if !IsQuota(key) {
			out[key] = value
		}
	}
	return out
}

// BurstOf returns the value of QuotaBurst among the options of a database, or its default.
func BurstOf(options map[string]string) time.Duration {
	if d, err := time.ParseDuration(options[QuotaBurst]); err == nil {
		return d
	}
	return DefaultBurst
}
