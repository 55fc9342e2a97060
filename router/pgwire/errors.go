package pgwire

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/router/pgwire/value"
	"cordwood/router/query"
)

// Error is an error or notice in PostgreSQL's protocol.
type Error struct {
	// Severity is ERROR or FATAL, or WARNING or NOTICE for a notice.
	Severity string
	// State is the SQLSTATE.
	State string
	// Text, Detail and Hint are for the user.
	Text, Detail, Hint string
	// Position is the position of the error in the client's text, in characters from 1; 0 if it is unknown.
	Position int
	// Where is the row of a COPY.
	Where string
}

func (e *Error) Error() string { return e.Text }

func failure(state, format string, args ...any) *Error {
	return &Error{Severity: "ERROR", State: state, Text: fmt.Sprintf(format, args...)}
}

func fatal(state, format string, args ...any) *Error {
	e := failure(state, format, args...)
	e.Severity = "FATAL"
	return e
}

func warning(state, format string, args ...any) *Error {
	e := failure(state, format, args...)
	e.Severity = "WARNING"
	return e
}

// withHint sets a hint, which tells the user what to do, and returns e.
func (e *Error) withHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// unsupported returns an error for a feature of PostgreSQL that this server lacks.
func unsupported(format string, args ...any) *Error { return failure("0A000", format, args...) }

func (e *Error) response() *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{
		Severity: e.Severity, SeverityUnlocalized: e.Severity, Code: e.State, Message: legible(e.Text),
		Detail: legible(e.Detail), Hint: legible(e.Hint), Position: int32(e.Position), Where: legible(e.Where),
	}
}

// legible replaces what cannot be in a text of the protocol: a message may quote bytes of a client or of a file.
func legible(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// The reasons for which statements are ended.
var (
	errUserCancel = errors.New("canceling statement due to user request")
	errGone       = errors.New("the client has disconnected")
	errStopping   = errors.New("the server is stopping")
	errTimeUp     = errors.New("canceling statement due to statement timeout")
	errEvicted    = errors.New("the portal was closed because others waited")
)

// states maps error codes to SQLSTATEs.
var states = map[errs.Code]string{
	errs.InvalidSyntax: "42601", errs.Unsupported: "0A000", errs.PlanQuery: "42000", errs.TableNotFound: "42P01",
	errs.ColumnNotFound: "42703", errs.TableAlreadyExists: "42P07", errs.ColumnExists: "42701",
	errs.DatabaseAlreadyExists: "42P04", errs.DatabaseNotFound: "3F000", errs.InvalidArguments: "22023",
	errs.QueryTimeout: "57014", errs.DeadlineExceeded: "57014", errs.Cancelled: "57014", errs.UserNotFound: "28P01",
	errs.UnsupportedPasswordType: "28P01", errs.UserPasswordMismatch: "28P01", errs.AuthHeaderNotFound: "28000",
	errs.InvalidAuthHeader: "28P01", errs.AccessDenied: "42501", errs.PermissionDenied: "42501",
	errs.RuntimeResourcesExhausted: "53200", errs.ShardBusy: "53300", errs.RateLimited: "53400",
	errs.StorageUnavailable: "58030", errs.ShardNotFound: "58000", errs.ShardNotReady: "58000",
	errs.ShardUnreachable: "58000", errs.TableUnavailable: "58000",
	errs.ObjectStorageUnavailable: "58000", errs.ShardReadonly: "25006", errs.External: "40001",
}

// planned and given map texts in the engine's errors to more specific SQLSTATEs.
var (
	planned = []struct {
		words *lazyregexp.Regexp
		state string
	}{
		{lazyregexp.New(`^a number of the statement is out of range`), "22003"},
		{lazyregexp.New(`^Referenced table ".*" not found`), "42P01"},
		{lazyregexp.New(`(?i)must appear in the GROUP BY clause`), "42803"},
		{lazyregexp.New(`^Subquery returns [0-9]+ columns`), "42601"},
		{lazyregexp.New(`^Set operations can only apply to expressions with the same number`), "42601"},
		{lazyregexp.New(`^ORDER term out of range`), "42P10"},
		{lazyregexp.New(`^LIMIT/OFFSET cannot be negative`), "2201W"},
		{lazyregexp.New(`does not exist on (left|right) side of join`), "42703"},
		{lazyregexp.New(`^Ambiguous reference to table .*duplicate alias`), "42712"},
		{lazyregexp.New(`^Type with name .* does not exist`), "42704"},
		{lazyregexp.New(`^Unknown TimeZone`), "22023"},
		{lazyregexp.New(`^No function matches|^Cannot concatenate types`), "42883"},
		{lazyregexp.New(`^Could not choose a best candidate function`), "42725"},
		{lazyregexp.New(`(?i)cannot (compare|mix|cast|combine)|type mismatch`), "42804"},
		{lazyregexp.New(`(?i)^the function |function .*does not exist|scalar function|aggregate function`), "42883"},
		{lazyregexp.New(`(?i)ambiguous`), "42702"},
		{lazyregexp.New(`(?i)GROUP BY|aggregate`), "42803"},
	}
	given = []struct {
		words *lazyregexp.Regexp
		state string
	}{
		{lazyregexp.New(`no unique key matches ON CONFLICT`), "42P10"},
		{lazyregexp.New(`^More than one row returned by a subquery`), "21000"},
		{lazyregexp.New(`^the pattern of .* is not valid: `), "2201B"},
		{lazyregexp.New(`^(missing [\])]|unexpected \)|invalid escape sequence): `), "2201B"},
		{lazyregexp.New(`^(invalid character class range|(bad|no argument for) repetition operator): `), "2201B"},
		{lazyregexp.New(`^Could not parse string .* according to format specifier`), "22007"},
		{lazyregexp.New(`^Could not convert string .* to INTERVAL`), "22007"},
		{lazyregexp.New(`: '.*' is not a value of type Timestamp`), "22007"},
		{lazyregexp.New(`: '.*' is not a value of type (U?Int|Float|Bool)`), "22P02"},
		{lazyregexp.New(`null values cannot be formatted as an SQL identifier`), "22004"},
		{lazyregexp.New(`^the pattern of LIKE ends in its escape`), "22025"},
		{lazyregexp.New(`^the escape of LIKE must be`), "22025"},
		{lazyregexp.New(`, but its value in the query is of type `), "42804"},
		{lazyregexp.New(`^the query of INSERT has `), "42601"},
		{lazyregexp.New(`ON CONFLICT DO UPDATE cannot store a row twice`), "21000"},
		{lazyregexp.New(`(?i)divi(sion|de) by zero`), "22012"},
		{lazyregexp.New(`square root of a negative number`), "2201F"},
		{lazyregexp.New(`logarithm of (zero|a negative number)`), "2201E"},
		{lazyregexp.New(`of type (Int|UInt|Float)[0-9]+, (whose range|which would round)`), "22003"},
		{lazyregexp.New(`^(date|timestamp) out of range`), "22008"},
		{lazyregexp.New(`(?i)(date|time|timestamp) field value out of range|out of range for TIMESTAMP`), "22008"},
		{lazyregexp.New(`(?i)invalid (date|time|timestamp) field format`), "22007"},
		{lazyregexp.New(`(?i)out of range|overflow|could not cast value .* to DECIMAL`), "22003"},
		{lazyregexp.New(`(?i)date|timestamp|no such day`), "22008"},
		{lazyregexp.New(`neither an integer nor a time`), "22007"},
		{lazyregexp.New(`(?i)could not convert|convert|invalid input|malformed`), "22P02"},
	}
)

// advice has what to write instead of an operation that the engine lacks.
var advice = []struct {
	words *lazyregexp.Regexp
	hint  string
}{
	{lazyregexp.New(`^Cannot concatenate types .*\[\]`), "write array_append(list, x), array_prepend(x, list) or " +
		"array_cat(list, list)"},
	{lazyregexp.New(`'(sum|avg)\(INTERVAL\)'`), "write sum(extract(epoch FROM x)) * INTERVAL '1 second'"},
	{lazyregexp.New(`'strftime\(INTERVAL`), "write CAST(x AS text)"},
	{lazyregexp.New(`'[@<]@?>?\(JSON, (JSON|VARCHAR)\)'`), "write a literal document, as in x @> '{\"a\": 1}'"},
	{
		lazyregexp.New(`with name "?(row_number|(dense_|percent_)?rank|cume_dist|ntile|lag|lead|nth_value)"? does not`),
		"it is a window function: write OVER after it, as in row_number() OVER (ORDER BY ts)",
	},
	{lazyregexp.New(`NameListToString`), "a table's name has at most two parts: write database.table"},
	{
		lazyregexp.New(`^Could not convert string '.*' to U?(INT|DOUBLE|DECIMAL).* source column`),
		"the column is a text; write the value in quotes, as in host = '5'",
	},
	{lazyregexp.New(`^UNNEST not supported here`), "write the function in FROM, as in SELECT k, count(*) FROM t, " +
		"jsonb_object_keys(t.doc) AS k GROUP BY k"},
	{lazyregexp.New(`(?i)Type with name "?(inet|cidr|macaddr8?)"?`), "there are no types of addresses; columns with " +
		"addresses are texts"},
	{lazyregexp.New(`function @@ does not exist`), "write matches(column, 'word') to search for words"},
	{lazyregexp.New(`pg_notify`), "no notifications are sent; ask for new rows with a query"},
	{lazyregexp.New(`pg_(try_)?advisory_`), "there are no advisory locks; let one program change the tables"},
	{lazyregexp.New(`jsonb?_path_(query|exists|match)`), "write ->, ->> or #>> to read parts of documents"},
	{lazyregexp.New(`jsonb?_(to|populate)_record`), "write doc->>'key' for each column"},
	{lazyregexp.New(`'[-+]\(TIMESTAMP\w*, STRING_LITERAL\)'`), "write the type, as in INTERVAL '1 hour'"},
	{
		lazyregexp.New(`(?i)invalid timestamp field format: "(yesterday|today|tomorrow|now)"`),
		"write the type after it, as in 'yesterday'::timestamptz",
	},
	{lazyregexp.New(`SELECT INTO not supported`), "write CREATE TABLE t (…), and then INSERT INTO t SELECT …"},
}

// adviceFor returns what to write instead, or an empty text.
func adviceFor(text string) string {
	for _, one := range advice {
		if one.words.MatchString(text) {
			return one.hint
		}
	}
	return ""
}

// tooDeep matches the engine's errors for statements that are nested too deeply.
var tooDeep = lazyregexp.New(`^the statement is nested too deeply|^memory exhausted at or near`)

// undefinedWindow matches the engine's error for OVER with a name that WINDOW does not define.
var undefinedWindow = lazyregexp.New(`window ".*" does not exist`)

// notUTF8 matches the error for an escape of a byte that is not part of any text.
var notUTF8 = lazyregexp.New(`the escape .* is not an ASCII character`)

func stateOf(e *errs.Error) string {
	list := given
	switch e.Code {
	case errs.InvalidSyntax:
		if notUTF8.MatchString(e.Msg) {
			return "22021"
		}
		return states[e.Code]
	case errs.PlanQuery:
		list = planned
	case errs.InvalidArguments:
	default:
		if state, ok := states[e.Code]; ok {
			return state
		}
		return "XX000"
	}
	for _, one := range list {
		if one.words.MatchString(e.Msg) {
			return one.state
		}
	}
	return states[e.Code]
}

// asError converts err to an error of the protocol. cause is the reason why the statement's context ended, or nil.
func asError(err, cause error) *Error {
	out := reported(err, cause)
	if stored := (*query.StoredError)(nil); cause != nil && errors.As(err, &stored) {
		told := *out // it may belong to the connection
		told.Detail = strings.TrimPrefix(told.Detail+"; rows stored before: "+itoa(stored.Rows), "; ")
		return &told
	}
	return out
}

// reported converts err without the number of rows that a statement has stored. The text of err says it, but not that
// of cause.
func reported(err, cause error) *Error {
	var own *Error
	var bad *value.Error
	var ended *errs.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &bad):
		return failure(bad.State, "%s", bad.Text)
	case errors.Is(cause, errUserCancel), errors.Is(cause, errTimeUp):
		return failure("57014", "%s", cause)
	case errors.Is(cause, errStopping):
		return fatal("57P01", "terminating connection: the server is stopping")
	case errors.Is(cause, errEvicted):
		return failure("34000", "%s", cause)
	case errors.As(cause, &own): // the connection ends
		return own
	case errors.As(cause, &ended): // the user has lost a right
		err = ended
	}
	e := errs.From(err)
	out := failure(stateOf(e), "%s", e.ClientMessage())
	switch {
	case e.Code == errs.QueryTimeout, e.Code == errs.DeadlineExceeded,
		e.Code == errs.Unknown && errors.Is(err, context.DeadlineExceeded):
		out.State, out.Text, out.Detail = "57014", errTimeUp.Error(), e.Msg
		if text, found := strings.CutSuffix(e.Msg, query.MoreTime); found { // clients of this protocol send no headers
			out.Detail = text
			out.Hint = "request less, or allow more time by SET statement_timeout"
		}
	case errors.Is(err, context.Canceled) && cause != nil:
		out.Text = cause.Error()
	case !e.Code.Masked():
		out.Text, out.Hint, _ = strings.Cut(e.Msg, "; ")
		if out.Hint == "" {
			out.Hint = adviceFor(e.Msg)
		}
		if out.State == "58000" && out.Hint == "" {
			out.Hint = "try again"
		}
	}
	if tooDeep.MatchString(e.Msg) {
		out.State = "54001"
	}
	if e.Code == errs.InvalidSyntax && undefinedWindow.MatchString(e.Msg) {
		out.State = "42704"
	}
	if out.Detail == "" && e.Code != errs.Unknown {
		out.Detail = "code " + strconv.Itoa(int(e.Code))
	}
	return out
}

// isTooMany reports whether err means that too many files are open.
func isTooMany(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// sameKey compares cancel keys in constant time.
func sameKey(a, b uint32) bool {
	var x, y [4]byte
	binary.BigEndian.PutUint32(x[:], a)
	binary.BigEndian.PutUint32(y[:], b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
