package schema

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
)

// The quotas of a database. They are stored as its options.
const (
	// QuotaTables is the maximum number of tables of the database.
	QuotaTables = "quota.tables"
	// QuotaColumns is the maximum number of columns of each table of the database.
	QuotaColumns = "quota.columns"
)

// QuotaWait is when a client may try again after a refusal because of a quota of tables, columns or stored bytes.
// Somebody has to drop tables or raise the quota first.
const QuotaWait = time.Minute

// TooManyTables returns the error for a new table beyond the quota of its database.
func TooManyTables(database, table string, limit, value uint64) *errs.Error {
	q := errs.Quota{Database: database, Name: QuotaTables, Limit: limit, Value: value, Unit: "tables"}
	if database != DefaultDatabase {
		table = database + "." + table
	}
	return errs.OverQuota(q, QuotaWait, "Table `%s` cannot be created: database `%s` has used up its quota of %d tables "+
		"(%s); drop tables, or ask an operator for a higher quota", table, database, limit, QuotaTables)
}

// maxQuota is the highest value of a quota.
const maxQuota = 1_000_000_000

var quotaNames = []string{QuotaColumns, QuotaTables}

// QuotaNames lists the quotas in alphabetical order.
func QuotaNames() []string { return slices.Clone(quotaNames) }

// IsQuota reports whether the key of an option belongs to a quota, known or not.
func IsQuota(key string) bool { return strings.HasPrefix(key, "quota.") }

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
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n > maxQuota {
		return "", errs.New(errs.InvalidArguments, "Quota %s: value %s is not possible; give a number from 0 to %d, or "+
			"remove the quota with UNSET", key, quoteShort(value), maxQuota)
	}
	return strconv.FormatUint(n, 10), nil
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
