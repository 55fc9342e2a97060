package clients

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/lib/pq"
)

const (
	pgText = "Ünïcode ☃ 🎉 'single' \"double\" back\\slash %s $1 ? ; -- \t\nnext"
	// pgSlow is a statement that takes minutes.
	pgSlow = "SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 1000000) b(y) " +
		"WHERE x % 7 = y % 13"
	pgColumns = "ts, id, s, ms, us, i8, i16, i64, u8, u16, u32, f32, f64, b, t, bin, j"
	pgWalk    = "SELECT n, t FROM public.many ORDER BY n"
	pgJSON    = `{"a": [1, "x", null], "n": 12345678901234567}`
)

// link returns the URL of a target.
func (to pgTarget) link(password, options string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(to.database, password), Host: to.host + ":" + to.port,
		Path: to.database, RawQuery: options,
	}
	return u.String()
}

// withTLS returns the options of a TLS connection that checks the certificate.
func (to pgTarget) withTLS() string {
	return "sslmode=verify-full&sslrootcert=" + url.QueryEscape(to.ca)
}

const withoutTLS = "sslmode=disable"

// pgRow is a row of the table types, as programs in Go read it.
type pgRow struct {
	TS            time.Time
	ID            int32
	S, MS, US     *time.Time
	I8, I16       *int16
	I64           *int64
	U8, U16       *int32
	U32           *int64
	F32, F64      *float64
	B             *bool
	T             *string
	Bin           []byte
	J             *string
	fields, sends []any
}

func to[T any](v T) *T { return &v }

// pgRows are the rows that are stored and read back: the largest and smallest values, and nulls.
func pgRows() []*pgRow {
	rows := []*pgRow{
		{
			TS: time.Date(2026, 1, 5, 10, 0, 0, 123456000, time.UTC), ID: 1,
			S:  to(time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC)),
			MS: to(time.Date(9999, 12, 31, 23, 59, 59, 999000000, time.UTC)),
			US: to(time.Date(1600, 2, 29, 0, 0, 0, 1000, time.UTC)),
			I8: to(int16(127)), I16: to(int16(32767)), I64: to(int64(math.MaxInt64)), U8: to(int32(255)),
			U16: to(int32(65535)), U32: to(int64(math.MaxUint32)), F32: to(math.Inf(1)), F64: to(math.MaxFloat64), B: to(true),
			T: to(pgText), Bin: []byte{0, 255, '\'', '\\', 10}, J: to(pgJSON),
		},
		{
			TS: time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC), ID: 2,
			S:  to(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)),
			MS: to(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)), US: to(time.Unix(0, 0).UTC()),
			I8: to(int16(-128)), I16: to(int16(-32768)), I64: to(int64(math.MinInt64)), U8: to(int32(0)), U16: to(int32(0)),
			U32: to(int64(0)), F32: to(-1.5), F64: to(math.NaN()), B: to(false), T: to(""), Bin: []byte{}, J: to("[]"),
		},
		{TS: time.Date(2026, 1, 5, 10, 0, 1, 0, time.UTC), ID: 3},
	}
	for _, r := range rows {
		r.place()
	}
	return rows
}

// place returns the variables into which the fields are read, and the values to send.
func (r *pgRow) place() {
	r.fields = []any{
		&r.TS, &r.ID, &r.S, &r.MS, &r.US, &r.I8, &r.I16, &r.I64, &r.U8, &r.U16, &r.U32, &r.F32, &r.F64, &r.B, &r.T, &r.Bin,
		&r.J,
	}
	r.sends = []any{
		r.TS, r.ID, r.S, r.MS, r.US, r.I8, r.I16, r.I64, r.U8, r.U16, r.U32, r.F32, r.F64, r.B, r.T, r.Bin, r.J,
	}
}

// text formats the row for comparisons, with times in UTC and NaN as text.
func (r *pgRow) text() string {
	utc := func(t *time.Time) string {
		if t == nil {
			return "null"
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	f64 := "null"
	if r.F64 != nil {
		f64 = fmt.Sprint(*r.F64)
	}
	f32 := "null"
	if r.F32 != nil {
		f32 = fmt.Sprint(*r.F32)
	}
	rest, _ := json.Marshal([]any{r.I8, r.I16, r.I64, r.U8, r.U16, r.U32, r.B, r.T, r.Bin})
	document := "null"
	if r.J != nil {
		var buf bytes.Buffer
		if json.Compact(&buf, []byte(*r.J)) == nil {
			document = buf.String()
		}
	}
	return fmt.Sprintln(utc(&r.TS), r.ID, utc(r.S), utc(r.MS), utc(r.US), string(rest), f32, f64, document)
}

// sameRow compares a row that was read with the stored row.
func sameRow(got, want *pgRow) error {
	if g, w := got.text(), want.text(); g != w {
		return fmt.Errorf("the row is\n%swant\n%s", g, w)
	}
	return nil
}

// pgError is an error of the server, independent of the driver.
type pgError struct{ code, position string }

func errorOf(err error) pgError {
	var x *pgconn.PgError
	if errors.As(err, &x) {
		return pgError{x.Code, strings.TrimSuffix(fmt.Sprint(x.Position), "?")}
	}
	var q *pq.Error
	if errors.As(err, &q) {
		return pgError{string(q.Code), q.Position}
	}
	return pgError{}
}

// pgMistakes are invalid statements with the SQLSTATE and, if there is one, the position of their error.
var pgMistakes = []struct{ sql, code, position string }{
	{"SELECT missing FROM types", "42703", "8"},
	{"SELECT id FROM missing", "42P01", "16"},
	{"SELECT 'é', missing FROM types", "42703", "13"},
	{"SELEC 1", "42601", "1"},
	{"UPDATE types SET id = 1", "0A000", ""},
}

// byDriver returns the checks that work with every driver of database/sql.
func byDriver(driver string) map[string]func(t *testing.T, to pgTarget) error {
	d := sqlDriver(driver)
	return map[string]func(t *testing.T, to pgTarget) error{
		pgConnect: d.connect, pgTLS: d.tls, pgParameters: d.parameters, pgTypes: d.types, pgFetch: d.fetch,
		pgCancel: d.cancel, pgErrors: d.errors, pgSchema: d.schema,
	}
}

// sqlDriver is the name of a driver of database/sql.
type sqlDriver string

func (d sqlDriver) with(to pgTarget, password, options string, use func(db *sql.DB) error) error {
	db, err := sql.Open(string(d), to.link(password, options))
	if err != nil {
		return err
	}
	defer db.Close()
	return use(db)
}

func (d sqlDriver) connect(_ *testing.T, to pgTarget) error {
	err := d.with(to, "wrong", withoutTLS, (*sql.DB).Ping)
	if got := errorOf(err); got.code != "28P01" {
		return fmt.Errorf("a wrong password: %w, want SQLSTATE 28P01", err)
	}
	return d.with(to, pgPassword, withoutTLS, func(db *sql.DB) error {
		var database, user string
		err := db.QueryRow("SELECT current_database(), current_user").Scan(&database, &user)
		if err == nil && (database != to.database || user != to.database) {
			return fmt.Errorf("the database is %s and the user %s, want %s", database, user, to.database)
		}
		return err
	})
}

func (d sqlDriver) tls(_ *testing.T, to pgTarget) error {
	return d.with(to, pgPassword, to.withTLS(), (*sql.DB).Ping)
}

func (d sqlDriver) schema(_ *testing.T, to pgTarget) error {
	return d.with(to, pgPassword, withoutTLS, func(db *sql.DB) error {
		rows, err := db.Query("SELECT * FROM types WHERE id = $1", 0)
		if err != nil {
			return err
		}
		defer rows.Close()
		types, err := rows.ColumnTypes()
		if err != nil {
			return err
		}
		var got []string
		for _, t := range types {
			got = append(got, t.Name()+" "+t.DatabaseTypeName())
		}
		want := "ts TIMESTAMPTZ, id INT4, s TIMESTAMPTZ, ms TIMESTAMPTZ, us TIMESTAMPTZ, i8 INT2, i16 INT2, i64 INT8, " +
			"u8 INT2, u16 INT4, u32 INT8, u64 NUMERIC, f32 FLOAT4, f64 FLOAT8, b BOOL, t TEXT, bin BYTEA, j JSON"
		if text := strings.Join(got, ", "); text != want {
			return fmt.Errorf("the columns are %s, want %s", text, want)
		}
		if p, s, ok := types[11].DecimalSize(); !ok || p != 20 || s != 0 {
			return fmt.Errorf("u64 has %d digits, %d of them after the decimal point", p, s)
		}
		return rows.Err()
	})
}

func (d sqlDriver) parameters(_ *testing.T, to pgTarget) error {
	at := time.Date(2026, 1, 5, 10, 0, 0, 1000, time.FixedZone("", 3600))
	return d.with(to, pgPassword, withoutTLS, func(db *sql.DB) error {
		for _, p := range []struct {
			sql   string
			value any
			want  string
		}{
			{"SELECT ($1::bigint)::text", int64(math.MinInt64), "-9223372036854775808"},
			{"SELECT ($1::double precision)::text", math.SmallestNonzeroFloat64, "5e-324"},
			{"SELECT $1::boolean::text", true, "true"},
			{"SELECT $1::text", pgText, pgText},
			{"SELECT host || $1 FROM (SELECT 'a' AS host) AS h", "b", "ab"},
			{"SELECT ($1 + 1)::text", 41, "42"},
			{"SELECT epoch_us($1::timestamptz)::text", at, "1767603600000001"},
			{"SELECT coalesce($1::text, 'null')", nil, "null"},
			{"SELECT hex($1::bytea)", []byte{0, 255}, "00FF"},
			{"SELECT count(*)::text FROM public.many WHERE n < $1 AND t <> 'row 1'", 10, "9"},
		} {
			statement, err := db.Prepare(p.sql)
			if err != nil {
				return fmt.Errorf("%s: %w", p.sql, err)
			}
			for range 2 {
				var prepared, direct string
				if err := statement.QueryRow(p.value).Scan(&prepared); err != nil {
					return fmt.Errorf("%s: %w", p.sql, err)
				}
				if err := db.QueryRow(p.sql, p.value).Scan(&direct); err != nil {
					return fmt.Errorf("%s: %w", p.sql, err)
				}
				if prepared != p.want || direct != p.want {
					return fmt.Errorf("%s is %q prepared, %q direct, want %q", p.sql, prepared, direct, p.want)
				}
			}
			_ = statement.Close()
		}
		return nil
	})
}

func (d sqlDriver) types(_ *testing.T, to pgTarget) error {
	return d.with(to, pgPassword, withoutTLS, func(db *sql.DB) error {
		rows := pgRows()
		marks := make([]string, len(rows[0].fields))
		for i := range marks {
			marks[i] = fmt.Sprint("$", i+1)
		}
		insert := "INSERT INTO types (" + pgColumns + ") VALUES (" + strings.Join(marks, ", ") + ")"
		for _, r := range rows {
			if _, err := db.Exec(insert, r.sends...); err != nil {
				return err
			}
		}
		for _, want := range rows {
			got := &pgRow{}
			got.place()
			if err := db.QueryRow("SELECT "+pgColumns+" FROM types WHERE id = $1", want.ID).Scan(got.fields...); err != nil {
				return err
			}
			if err := sameRow(got, want); err != nil {
				return err
			}
		}
		_, err := db.Exec("INSERT INTO types (ts, id, u64) VALUES ($1, 4, $2)", rows[2].TS, "18446744073709551615")
		var u64 string
		err = errors.Join(err, db.QueryRow("SELECT u64 FROM types WHERE id = 4").Scan(&u64))
		if err == nil && u64 != "18446744073709551615" {
			err = fmt.Errorf("u64 is %s", u64)
		}
		return err
	})
}

func (d sqlDriver) fetch(_ *testing.T, to pgTarget) error {
	return d.with(to, pgPassword, withoutTLS, func(db *sql.DB) error {
		rows, err := db.Query(pgWalk)
		if err != nil {
			return err
		}
		defer rows.Close()
		n := int64(0)
		for ; rows.Next(); n++ {
			var (
				got  int64
				text string
			)
			if err := rows.Scan(&got, &text); err != nil || got != n || text != fmt.Sprint("row ", n) {
				return fmt.Errorf("row %d is %d, %s: %w", n, got, text, err)
			}
		}
		if n != pgMany {
			return fmt.Errorf("there are %d rows", n)
		}
		return rows.Err()
	})
}

func (d sqlDriver) cancel(_ *testing.T, to pgTarget) error {
	return d.with(to, pgPassword, withoutTLS, func(db *sql.DB) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		db.SetMaxOpenConns(1)
		started := time.Now()
		err := db.QueryRowContext(ctx, pgSlow).Scan(new(int64))
		if err == nil || time.Since(started) > 10*time.Second {
			return fmt.Errorf("after %s: %w", time.Since(started), err)
		}
		return db.QueryRow("SELECT 1").Scan(new(int64))
	})
}

func (d sqlDriver) errors(_ *testing.T, to pgTarget) error {
	return d.with(to, pgPassword, withoutTLS, func(db *sql.DB) error {
		db.SetMaxOpenConns(1)
		for _, m := range pgMistakes {
			_, err := db.Exec(m.sql)
			if got := errorOf(err); got.code != m.code || m.position != "" && got.position != m.position {
				return fmt.Errorf("%s: %w at %q, want %s at %q", m.sql, err, got.position, m.code, m.position)
			}
			if err := db.Ping(); err != nil {
				return err
			}
		}
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		_, _ = tx.Exec("SELECT missing")
		if _, err := tx.Exec("SELECT 1"); errorOf(err).code != "25P02" {
			return fmt.Errorf("after an error in a transaction: %w, want SQLSTATE 25P02", err)
		}
		if err := tx.Rollback(); err != nil {
			return err
		}
		return db.QueryRow("SELECT 1").Scan(new(int64))
	})
}

// byPQ returns checks of lib/pq that database/sql cannot express.
func byPQ() map[string]func(t *testing.T, to pgTarget) error {
	checks := byDriver("postgres")
	checks[pgCopy] = func(_ *testing.T, to pgTarget) error {
		return sqlDriver("postgres").with(to, pgPassword, withoutTLS, func(db *sql.DB) error {
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			statement, err := tx.Prepare(`COPY "types" ("ts", "id", "t", "i64") FROM STDIN`)
			if err != nil {
				return err
			}
			at := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
			for _, row := range [][]any{{at, 100, "a\tb\\", int64(math.MaxInt64)}, {at, 101, nil, nil}} {
				if _, err := statement.Exec(row...); err != nil {
					return err
				}
			}
			if _, err := statement.Exec(); err != nil {
				return err
			}
			if err := errors.Join(statement.Close(), tx.Commit()); err != nil {
				return err
			}
			var text string
			var n, i64 int64
			err = db.QueryRow("SELECT max(t), max(i64), count(*) FROM types WHERE id = ANY($1)",
				pq.Array([]int64{100, 101})).Scan(&text, &i64, &n)
			if err == nil && (text != "a\tb\\" || i64 != math.MaxInt64 || n != 2) {
				err = fmt.Errorf("%q %d %d", text, i64, n)
			}
			return err
		})
	}
	return checks
}

// byPGX returns the checks with pgx's own API.
func byPGX(mode string) map[string]func(t *testing.T, to pgTarget) error {
	options := withoutTLS + "&default_query_exec_mode=" + mode
	with := func(use func(ctx context.Context, c *pgx.Conn, to pgTarget) error) func(*testing.T, pgTarget) error {
		return func(t *testing.T, to pgTarget) error {
			ctx := t.Context()
			c, err := pgx.Connect(ctx, to.link(pgPassword, options))
			if err != nil {
				return err
			}
			defer c.Close(context.Background())
			return use(ctx, c, to)
		}
	}
	checks := byDriver("pgx")
	checks[pgTLS] = func(t *testing.T, to pgTarget) error {
		c, err := pgx.Connect(t.Context(), to.link(pgPassword, to.withTLS()+"&channel_binding=require"))
		if err != nil {
			return err
		}
		return errors.Join(c.Ping(t.Context()), c.Close(t.Context()))
	}
	checks[pgTypes] = with(typesOfPGX)
	checks[pgParameters] = with(parametersOfPGX)
	checks[pgFetch] = with(fetchOfPGX)
	checks[pgCopy] = with(copyOfPGX)
	return checks
}

func typesOfPGX(ctx context.Context, c *pgx.Conn, _ pgTarget) error {
	rows := pgRows()
	marks := make([]string, len(rows[0].fields))
	for i := range marks {
		marks[i] = fmt.Sprint("$", i+1)
	}
	batch := &pgx.Batch{}
	for _, r := range rows {
		batch.Queue("INSERT INTO types ("+pgColumns+") VALUES ("+strings.Join(marks, ", ")+")", r.sends...)
	}
	if err := c.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	for _, want := range rows {
		got := &pgRow{}
		got.place()
		err := c.QueryRow(ctx, "SELECT "+pgColumns+" FROM types WHERE id = $1", want.ID).Scan(got.fields...)
		if err != nil {
			return err
		}
		if err := sameRow(got, want); err != nil {
			return err
		}
	}
	var u64 uint64
	err := c.QueryRow(ctx, "SELECT '18446744073709551615'::ubigint").Scan(&u64)
	if err == nil && u64 != math.MaxUint64 {
		err = fmt.Errorf("the unsigned integer is %d", u64)
	}
	return err
}

func parametersOfPGX(ctx context.Context, c *pgx.Conn, _ pgTarget) error {
	var (
		ids   []int64
		texts []string
		took  time.Duration
		doc   map[string]any
		uuid  [16]byte
	)
	err := c.QueryRow(ctx, "SELECT $1::bigint[], $2::text[], $3::interval, $4::json, $5::uuid",
		[]int64{1, math.MaxInt64}, []string{"a,b", `q"`, "NULL", ""}, 90*time.Minute, `{"a":"é"}`,
		"00112233-4455-6677-8899-aabbccddeeff").Scan(&ids, &texts, &took, &doc, &uuid)
	if err != nil {
		return err
	}
	if !slices.Equal(ids, []int64{1, math.MaxInt64}) || !slices.Equal(texts, []string{"a,b", `q"`, "NULL", ""}) ||
		took != 90*time.Minute || doc["a"] != "é" || uuid[15] != 0xff {
		return fmt.Errorf("%v %q %v %v %x", ids, texts, took, doc, uuid)
	}
	rows, err := c.Query(ctx, "SELECT n FROM public.many WHERE n = ANY($1) AND t <> $2 ORDER BY n LIMIT $3",
		[]int64{7, 5, 6}, "row 6", 2)
	if err != nil {
		return err
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err == nil && !slices.Equal(got, []int64{5, 7}) {
		err = fmt.Errorf("the rows are %d", got)
	}
	return err
}

func fetchOfPGX(ctx context.Context, c *pgx.Conn, _ pgTarget) error {
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, "DECLARE walk CURSOR FOR "+pgWalk); err != nil {
		return err
	}
	for n := int64(0); ; {
		rows, err := tx.Query(ctx, "FETCH 5000 FROM walk")
		if err != nil {
			return err
		}
		before := n
		for ; rows.Next(); n++ {
			var (
				got  int64
				text string
			)
			if err := rows.Scan(&got, &text); err != nil || got != n {
				return fmt.Errorf("row %d is %d, %s: %w", n, got, text, err)
			}
		}
		if rows.Err() != nil {
			return rows.Err()
		}
		if n == before {
			if n != pgMany {
				return fmt.Errorf("there are %d rows", n)
			}
			return tx.Commit(ctx)
		}
	}
}

func copyOfPGX(ctx context.Context, c *pgx.Conn, _ pgTarget) error {
	at := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	n, err := c.CopyFrom(ctx, pgx.Identifier{"types"}, []string{"ts", "id", "t", "i64", "b"},
		pgx.CopyFromRows([][]any{{at, 100, "a\tb", int64(math.MaxInt64), true}, {at, 101, nil, nil, nil}}))
	if err != nil || n != 2 {
		return fmt.Errorf("%d rows: %w", n, err)
	}
	_, err = c.PgConn().CopyFrom(ctx, strings.NewReader("2026-02-01 00:00:02,102,\"c,\"\"d\"\"\"\n"),
		"COPY types (ts, id, t) FROM STDIN WITH (FORMAT csv)")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	_, err = c.PgConn().CopyTo(ctx, &out, "COPY (SELECT id, t, i64, b FROM types WHERE id >= 100 ORDER BY id) TO STDOUT")
	const want = "100\ta\\tb\t9223372036854775807\tt\n101\t\\N\t\\N\t\\N\n102\tc,\"d\"\t\\N\t\\N\n"
	if err == nil && out.String() != want {
		return fmt.Errorf("the text is %q, want %q", out.String(), want)
	}
	if err != nil {
		return err
	}
	_, err = c.PgConn().CopyTo(ctx, io.Discard, "COPY public.many TO STDOUT (FORMAT binary)")
	return err
}

var pgGoClients = []pgClient{
	{name: "pgx", run: pgFunctions(byPGX("cache_statement"))},
	{name: "pgx-exec", run: pgFunctions(byPGX("exec"))},
	{name: "pgx-simple", run: pgFunctions(byPGX("simple_protocol"))},
	{name: "pq", run: pgFunctions(byPQ())},
	pgClient{name: "pgx-pool", run: pgFunctions(byPool())}.except(allBut(pgParameters)...),
	pgClient{name: "gorm", run: pgFunctions(byGORM())}.except(allBut(pgConnect, pgSchema, pgTypes, pgErrors)...),
	pgClient{name: "sqlx", run: pgFunctions(bySQLX())}.except(allBut(pgParameters, pgTypes)...),
	pgClient{name: "bun", run: pgFunctions(byBun())}.except(allBut(pgConnect, pgTypes, pgErrors)...),
}
