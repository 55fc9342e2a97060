package duck

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cordwood/shard/query/engine/sql"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

/*
// The libraries of DuckDB are linked with -rdynamic, so the program would export 60,000 symbols. Nothing asks for them.
// Their names take 7 MB of the program.
#cgo linux LDFLAGS: -Wl,--no-export-dynamic

#include "scan.h"
#include "match.h"
#include "cast.h"
#include "depth.h"
#include "epoch.h"
#include "like.h"
#include "quotient.h"
#include "trunc.h"
*/
import "C"

// Config configures an instance.
type Config struct {
	// MemoryLimit is the maximum number of bytes for hash tables, sorts and buffers.
	MemoryLimit int64
	// Threads is how many threads run queries.
	Threads int
	// TempDir is the folder to which DuckDB spills what exceeds MemoryLimit; if it is empty,
	// nothing is spilled. TempLimit is the maximum size of this folder in bytes.
	TempDir   string
	TempLimit int64
	// Dirs are the folders whose files DuckDB may read, including subfolders.
	Dirs []string
	// MaxExpressionDepth limits the nesting of expressions in a statement.
	MaxExpressionDepth int
}

// Instance is one DuckDB database, in memory.
type Instance struct {
	db duckdb.Database
}

// setupSQL is run once on a new database, after the settings and before the configuration is
// locked.
//
// The functions that return the present moment would be of type TIMESTAMP WITH TIME
// ZONE, which cannot be compared with TIMESTAMP_NS, the type of most time indexes.
// Here they return plain timestamps in UTC, as every column holds them.
var setupSQL = []string{
	`CREATE MACRO now() AS system.main.now()::TIMESTAMP`,
	`CREATE MACRO transaction_timestamp() AS system.main.transaction_timestamp()::TIMESTAMP`,
	`CREATE MACRO get_current_timestamp() AS system.main.get_current_timestamp()::TIMESTAMP`,
	`CREATE MACRO to_timestamp(seconds) AS system.main.to_timestamp(seconds)::TIMESTAMP`,
	// DuckDB's own function truncates times before 1970 towards 1970.
	`CREATE MACRO epoch_ms(x TIMESTAMP) AS system.main.epoch_ms(date_trunc('milliseconds', x)), (x TIMESTAMP WITH TIME ` +
		`ZONE) AS system.main.epoch_ms(date_trunc('milliseconds', x)), (x BIGINT) AS system.main.epoch_ms(x), ` +
		`(x DATE) AS system.main.epoch_ms(x), (x TIME) AS system.main.epoch_ms(x), (x INTERVAL) AS system.main.epoch_ms(x)`,
}

// guardSQL wraps the JSON functions that recurse once for each level, and limits the depth of the
// JSON text. Without the limit a text of some thousand levels would overflow their stack and end
// the process. Other JSON functions do not recurse, or only as deep as a path goes.
var guardSQL = []string{
	macro("json_contains(haystack, needle)", "system.main.json_contains(D(haystack), D(needle))"),
	macro("json_structure(json)", "system.main.json_structure(D(json))"),
	macro("json_group_structure(json)",
		fmt.Sprintf("system.main.json_structure(cordwood_depth(%d, json_group_array(json)))->0", MaxJSONDepth+1)),
	macro("json_pretty(json)", "system.main.json_pretty(D(json))"),
	macro("json_merge_patch(a, b)",
		"system.main.json_merge_patch(D(a), D(b)), (a, b, c) AS system.main.json_merge_patch(D(a), D(b), D(c)),"+
			"(a, b, c, d) AS system.main.json_merge_patch(D(a), D(b), D(c), D(d))"),
	macro("json_transform(json, structure)", "system.main.json_transform(json, S(structure))"),
	macro("json_transform_strict(json, structure)", "system.main.json_transform_strict(json, S(structure))"),
	macro("from_json(json, structure)", "system.main.from_json(json, S(structure))"),
	macro("from_json_strict(json, structure)", "system.main.from_json_strict(json, S(structure))"),
}

// likeSQL replaces functions that backtrack without a bound for each wildcard of a pattern by our
// own. Patterns that are safe stay with DuckDB: if they are literals, it turns them into a
// comparison, prefix, suffix or contains, and removes the CASE when it plans the statement.
var likeSQL = []string{
	`CREATE MACRO "~~"(a, b) AS CASE WHEN cordwood_like_plain(b) THEN system.main."~~"(a, b) ELSE cordwood_like(a, b) END`,
	`CREATE MACRO "!~~"(a, b) AS CASE WHEN cordwood_like_plain(b) THEN system.main."!~~"(a, ` +
		`b) ELSE NOT cordwood_like(a, b) END`,
	`CREATE MACRO "~~*"(a, b) AS "~~"(lower(a), lower(b))`,
	`CREATE MACRO "!~~*"(a, b) AS "!~~"(lower(a), lower(b))`,
	`CREATE MACRO "~~~"(a, b) AS cordwood_glob(a, b)`,
	`CREATE MACRO like_escape(a, b, c) AS cordwood_like_escape(a, b, c)`,
	`CREATE MACRO not_like_escape(a, b, c) AS NOT cordwood_like_escape(a, b, c)`,
	`CREATE MACRO ilike_escape(a, b, c) AS cordwood_like_escape(lower(a), lower(b), c)`,
	`CREATE MACRO not_ilike_escape(a, b, c) AS NOT cordwood_like_escape(lower(a), lower(b), c)`,
}

// Limits on the depth of JSON texts.
const (
	MaxJSONDepth      = 1000 // of texts that a function descends into level by level
	MaxStructureDepth = 32   // of texts that describe a type: each level is a level of the type
)

// macro returns the statement that creates a macro. In the body, D and S are calls that check the
// depth.
func macro(head, body string) string {
	return "CREATE MACRO " + head + " AS " + strings.NewReplacer(
		"D(", fmt.Sprintf("cordwood_depth(%d, ", MaxJSONDepth), "S(", fmt.Sprintf("cordwood_depth(%d, ",
			MaxStructureDepth)).Replace(body)
}

// Open opens a database that can read only files below cfg.Dirs, and whose settings cannot be
// changed.
func Open(cfg Config) (*Instance, error) {
	var config duckdb.Config
	if duckdb.CreateConfig(&config) == duckdb.StateError {
		return nil, fmt.Errorf("create a configuration")
	}
	defer duckdb.DestroyConfig(&config)
	for _, o := range [][2]string{
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"allow_unsigned_extensions", "false"},
		{"allow_persistent_secrets", "false"},
		{"threads", fmt.Sprint(cfg.Threads)},
		{"memory_limit", fmt.Sprintf("%dB", cfg.MemoryLimit)},
	} {
		if duckdb.SetConfig(config, o[0], o[1]) == duckdb.StateError {
			return nil, fmt.Errorf("configure %s = %s", o[0], o[1])
		}
	}
	in := &Instance{}
	var msg string
	if duckdb.OpenExt(":memory:", &in.db, config, &msg) == duckdb.StateError {
		return nil, fmt.Errorf("open an in-memory database: %s", msg)
	}
	if err := in.setUp(cfg); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

func (in *Instance) setUp(cfg Config) error {
	s, err := in.Connect()
	if err != nil {
		return err
	}
	defer s.Close()
	statements := []string{
		// Tables hold UTC without a zone. Any other session zone would shift comparisons.
		"SET GLOBAL TimeZone = 'UTC'",
		"SET GLOBAL errors_as_json = true",
		// Parse the footer of a file once, not once for each query and step of planning.
		"SET GLOBAL parquet_metadata_cache = true",
		// The kernel caches the files. A second copy in the engine's memory saves no time. It would also go on to serve
		// holes of files that are filled part by part, as those of object storage are.
		"SET GLOBAL enable_external_file_cache = false",
		// It computes sum(n + 1) as sum(n) + count(n), which hides an overflow of n + 1 in some statements only.
		"SET GLOBAL disabled_optimizers = 'sum_rewriter'",
		fmt.Sprintf("SET GLOBAL max_expression_depth = %d", cfg.MaxExpressionDepth),
		"SET temp_directory = " + sql.QuoteText(cfg.TempDir),
		fmt.Sprintf("SET max_temp_directory_size = '%dB'", cfg.TempLimit),
		"SET allowed_directories = " + sql.QuoteList(cfg.Dirs),
		"SET enable_external_access = false",
	}
	statements = slices.Concat(statements, setupSQL, guardSQL, likeSQL)
	statements = append(statements, "SET allowed_configs = ['"+bufferSetting+"']", "SET lock_configuration = true")
	for _, sql := range statements {
		if err := s.Exec(sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		if sql == statements[0] {
			if err := s.register(); err != nil {
				return err
			}
		}
	}
	return nil
}

// register adds our own functions to the database.
func (s *Session) register() error {
	initMatch()
	conn := C.duckdb_handle(s.conn.Ptr)
	for what, failed := range map[string]bool{
		"the table function that scans batches": C.cw_register(conn) != 0,
		"the text search functions":             C.cw_match_register(conn) != 0,
		"date_trunc for nanoseconds":            C.cw_trunc_register(conn) != 0,
		"the casts of numbers to doubles":       C.cw_cast_register(conn) != 0,
		"the conversion of integers to times":   C.cw_epoch_register(conn) != 0,
		"the check of the depth of JSON":        C.cw_depth_register(conn) != 0,
		"LIKE":                                  C.cw_like_register(conn) != 0,
		"the division for averages":             C.cw_quotient_register(conn) != 0,
	} {
		if failed {
			return fmt.Errorf("register %s", what)
		}
	}
	return nil
}

// Close frees the database. No session may be open.
func (in *Instance) Close() {
	duckdb.Close(&in.db)
}

// Session is a connection for one query. Only interrupt may be called while another method runs.
type Session struct {
	conn duckdb.Connection
}

// streamBuffer is the size at which DuckDB stops to produce rows of a result that nobody fetches. DuckDB counts 16
// bytes for a text of any length, so with its default of about 1 MB, 64,000 rows wait for a reader that is slow. The
// setting belongs to a session, and is the only one that may be changed later. Statements of users cannot change it,
// because they are queries.
const (
	bufferSetting = "streaming_buffer_size"
	streamBuffer  = "64KiB"
)

// Connect opens a session. The caller closes it.
func (in *Instance) Connect() (*Session, error) {
	s := &Session{}
	if duckdb.Connect(in.db, &s.conn) == duckdb.StateError {
		return nil, fmt.Errorf("connect to the in-memory database")
	}
	if err := s.Exec("SET SESSION " + bufferSetting + " = '" + streamBuffer + "'"); err != nil {
		s.Close()
		return nil, fmt.Errorf("set the buffer of a session: %w", err)
	}
	return s, nil
}

// Close ends the session and what is left of its statements.
func (s *Session) Close() { duckdb.Disconnect(&s.conn) }

// interrupt stops whatever the session is running, if anything.
func (s *Session) interrupt() { duckdb.Interrupt(s.conn) }

// Exec runs one of our own statements and ignores its rows.
func (s *Session) Exec(sql string) error {
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.Query(s.conn, sql, &res) == duckdb.StateError {
		return EngineError(duckdb.ResultError(&res), duckdb.ResultErrorType(&res))
	}
	return nil
}

// QueryText runs a prepared statement of one text parameter and returns the text in
// its only row.
func (s *Session) QueryText(sql, arg string) (string, error) {
	var stmt duckdb.PreparedStatement
	defer duckdb.DestroyPrepare(&stmt)
	if duckdb.Prepare(s.conn, sql, &stmt) == duckdb.StateError {
		return "", EngineError(duckdb.PrepareError(stmt), duckdb.ErrorTypeInvalid)
	}
	if duckdb.BindVarcharLength(stmt, 1, arg, duckdb.IdxT(len(arg))) == duckdb.StateError {
		return "", fmt.Errorf("bind a text of %d bytes", len(arg))
	}
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.ExecutePrepared(stmt, &res) == duckdb.StateError {
		return "", EngineError(duckdb.ResultError(&res), duckdb.ResultErrorType(&res))
	}
	chunk := duckdb.FetchChunk(res)
	if chunk.Ptr == nil || duckdb.DataChunkGetSize(chunk) == 0 {
		return "", fmt.Errorf("no row")
	}
	defer duckdb.DestroyDataChunk(&chunk)
	data := duckdb.VectorGetData(duckdb.DataChunkGetVector(chunk, 0))
	return duckdb.StringTData((*duckdb.StringT)(data)), nil
}

// SyntaxTree returns the syntax tree of a text as JSON, without empty fields.
func (in *Instance) SyntaxTree(text string) (string, error) {
	s, err := in.Connect()
	if err != nil {
		return "", err
	}
	defer s.Close()
	return s.QueryText(
		"SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true, skip_default := true)::VARCHAR", text)
}

// WholeTree returns the syntax tree of a text as JSON, with empty fields.
func (in *Instance) WholeTree(text string) (string, error) {
	s, err := in.Connect()
	if err != nil {
		return "", err
	}
	defer s.Close()
	return s.QueryText("SELECT json_serialize_sql(?::VARCHAR)::VARCHAR", text)
}

// EngineError parses an error of DuckDB. It is a JSON object because of the setting errors_as_json,
// but in some places a text such as "Binder Error: …".
func EngineError(msg string, kind duckdb.ErrorType) error {
	e := &sql.EngineError{}
	if i := strings.Index(msg, `{"exception_type"`); i >= 0 && json.Unmarshal([]byte(msg[i:]), e) == nil {
		return e
	}
	e = &sql.EngineError{Message: msg}
	if head, rest, ok := strings.Cut(msg, " Error: "); ok && len(head) < 40 {
		e.Kind, e.Message = head, rest
	}
	switch kind {
	case duckdb.ErrorTypeInterrupt:
		e.Kind = "INTERRUPT"
	case duckdb.ErrorTypeFatal:
		e.Kind = "FATAL"
	case duckdb.ErrorTypeInternal:
		e.Kind = "INTERNAL"
	case duckdb.ErrorTypeOutOfMemory:
		e.Kind = "Out of Memory"
	}
	return e
}
