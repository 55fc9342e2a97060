package clients

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// pgEntry is a row of a table that the ORMs create.
type pgEntry struct {
	TS     time.Time `bun:"ts,pk,type:timestamptz"         db:"ts"     gorm:"column:ts;type:timestamptz;primaryKey"`
	Host   string    `bun:"host,pk"                        db:"host"   gorm:"primaryKey"`
	Status *int64    `bun:"status"                         db:"status"`
	Took   *float64  `bun:"took,type:double precision"     db:"took"   gorm:"type:double precision"`
	OK     *bool     `bun:"ok"                             db:"ok"     gorm:"column:ok"`
	Bin    []byte    `bun:"bin"                            db:"bin"`

	bun.BaseModel `bun:"table:entries" db:"-" gorm:"-"`
}

func (pgEntry) TableName() string { return "entries" }

// String formats the entry for comparisons.
func (e *pgEntry) String() string {
	return fmt.Sprint(e.TS.UTC(), e.Host, *e.Status, *e.Took, *e.OK, string(e.Bin))
}

func entryOf(host string) *pgEntry {
	return &pgEntry{
		TS: time.Date(2026, 1, 5, 10, 0, 0, 123456000, time.UTC), Host: host, Status: to(int64(-1 << 63)), Took: to(1.5),
		OK: to(false), Bin: []byte{0, 255},
	}
}

// sameEntries compares entries that were read with one that was stored.
func sameEntries(got []pgEntry, want *pgEntry) error {
	if len(got) != 1 || got[0].String() != want.String() {
		return fmt.Errorf("the entries are %v, want %v", got, want)
	}
	return nil
}

// byGORM returns the checks of GORM over pgx.
func byGORM() map[string]func(t *testing.T, to pgTarget) error {
	open := func(to pgTarget, password string) (*gorm.DB, error) {
		return gorm.Open(postgres.Open(to.link(password, withoutTLS)), &gorm.Config{Logger: logger.Discard})
	}
	return map[string]func(t *testing.T, to pgTarget) error{
		pgConnect: func(_ *testing.T, to pgTarget) error {
			if _, err := open(to, "wrong"); errorOf(err).code != "28P01" {
				return fmt.Errorf("a wrong password: %w", err)
			}
			return nil
		},
		pgSchema: func(_ *testing.T, to pgTarget) error {
			db, err := open(to, pgPassword)
			if err != nil {
				return err
			}
			types, err := db.Migrator().ColumnTypes("merged")
			if err != nil {
				return err
			}
			text := ""
			for _, c := range types {
				key, _ := c.PrimaryKey()
				text += fmt.Sprint(c.Name(), " ", c.DatabaseTypeName(), " ", key, ";")
			}
			if want := "took float8 false;ts timestamptz true;host text true;"; len(text) != len(want) ||
				!db.Migrator().HasTable("types") || !db.Migrator().HasConstraint("merged", "merged_pkey") {
				return fmt.Errorf("columns are %s, want %s", text, want)
			}
			return nil
		},
		pgTypes: func(_ *testing.T, to pgTarget) error {
			db, err := open(to, pgPassword)
			if err != nil {
				return err
			}
			one := entryOf(pgText)
			var got []pgEntry
			var count int64
			err = errors.Join(db.AutoMigrate(&pgEntry{}), db.AutoMigrate(&pgEntry{}), db.Create(one).Error,
				db.CreateInBatches([]pgEntry{{TS: one.TS, Host: "b"}, {TS: one.TS, Host: "c"}}, 10).Error,
				db.Delete(&pgEntry{}, "host = ?", "c").Error,
				db.Where("ts >= ? AND host IN ?", one.TS, []string{pgText, "x"}).Order("ts DESC").Limit(3).Find(&got).Error,
				db.Model(&pgEntry{}).Where("status IS NULL").Count(&count).Error, db.Migrator().DropTable(&pgEntry{}))
			if err == nil && count != 1 {
				err = fmt.Errorf("%d entries with nulls, want 1", count)
			}
			return errors.Join(err, sameEntries(got, one))
		},
		pgErrors: func(_ *testing.T, to pgTarget) error {
			db, err := open(to, pgPassword)
			if err != nil {
				return err
			}
			err = db.Transaction(func(tx *gorm.DB) error { return tx.Exec("SELECT missing FROM types").Error })
			if errorOf(err).code != "42703" {
				return err
			}
			return db.Exec("SELECT 1").Error
		},
	}
}

// bySQLX returns the checks of sqlx over pgx.
func bySQLX() map[string]func(t *testing.T, to pgTarget) error {
	return map[string]func(t *testing.T, to pgTarget) error{
		pgParameters: func(t *testing.T, to pgTarget) error {
			db, err := sqlx.ConnectContext(t.Context(), "pgx", to.link(pgPassword, withoutTLS))
			if err != nil {
				return err
			}
			defer db.Close()
			query, args, err := sqlx.In("SELECT n FROM public.many WHERE n IN (?) ORDER BY n", []int{5, 7})
			if err != nil {
				return err
			}
			var list []int64
			if err := db.Select(&list, db.Rebind(query), args...); err != nil || fmt.Sprint(list) != "[5 7]" {
				return fmt.Errorf("rows: %v %w", list, err)
			}
			rows, err := db.NamedQuery("SELECT t FROM public.many WHERE n = :n", map[string]any{"n": 7})
			if err != nil {
				return err
			}
			defer rows.Close()
			if !rows.Next() {
				return fmt.Errorf("no row: %w", rows.Err())
			}
			return nil
		},
		pgTypes: func(t *testing.T, to pgTarget) error {
			db, err := sqlx.ConnectContext(t.Context(), "pgx", to.link(pgPassword, withoutTLS))
			if err != nil {
				return err
			}
			defer db.Close()
			one := entryOf("a")
			db.MustExec("CREATE TABLE entries (ts timestamptz, host text, status int8, took float8, ok bool, bin bytea)")
			_, err = db.NamedExec("INSERT INTO entries VALUES (:ts, :host, :status, :took, :ok, :bin)", []*pgEntry{one})
			if err != nil {
				return err
			}
			var got []pgEntry
			return errors.Join(db.Select(&got, "SELECT * FROM entries WHERE status = $1", *one.Status), sameEntries(got, one))
		},
	}
}

// byBun returns the checks of bun with its own driver.
func byBun() map[string]func(t *testing.T, to pgTarget) error {
	open := func(to pgTarget, password, options string) *bun.DB {
		return bun.NewDB(sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(to.link(password, options)))), pgdialect.New())
	}
	return map[string]func(t *testing.T, to pgTarget) error{
		pgConnect: func(t *testing.T, to pgTarget) error {
			db := open(to, "wrong", withoutTLS)
			defer db.Close()
			err := db.PingContext(t.Context())
			if e := (pgdriver.Error{}); !errors.As(err, &e) || e.Field('C') != "28P01" {
				return fmt.Errorf("a wrong password: %w", err)
			}
			return nil
		},
		pgTypes: func(t *testing.T, to pgTarget) error {
			db := open(to, pgPassword, withoutTLS)
			defer db.Close()
			one := entryOf(pgText)
			ctx := t.Context()
			if _, err := db.NewCreateTable().Model((*pgEntry)(nil)).IfNotExists().Exec(ctx); err != nil {
				return err
			}
			if _, err := db.NewInsert().Model(one).Exec(ctx); err != nil {
				return err
			}
			var got []pgEntry
			err := db.NewSelect().Model(&got).Where("ts >= ?", one.TS).Where("host IN (?)", bun.List([]string{pgText, "x"})).
				Scan(ctx)
			_, dropped := db.NewDropTable().Model((*pgEntry)(nil)).Cascade().Exec(ctx)
			return errors.Join(err, dropped, sameEntries(got, one))
		},
		pgErrors: func(t *testing.T, to pgTarget) error {
			db := open(to, pgPassword, withoutTLS)
			defer db.Close()
			_, err := db.ExecContext(t.Context(), "SELECT 'é', missing FROM types")
			if e := (pgdriver.Error{}); !errors.As(err, &e) || e.Field('C') != "42703" || e.Field('P') != "13" {
				return fmt.Errorf("the error is %w", err)
			}
			return nil
		},
	}
}

// byPool returns the checks of pgx's pool and of its batches.
func byPool() map[string]func(t *testing.T, to pgTarget) error {
	return map[string]func(t *testing.T, to pgTarget) error{
		pgParameters: func(t *testing.T, to pgTarget) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			pool, err := pgxpool.New(ctx, to.link(pgPassword, withoutTLS+"&pool_max_conns=4"))
			if err != nil {
				return err
			}
			defer pool.Close()
			failed := make(chan error, 20)
			for i := range 20 {
				go func() {
					var n int
					err := pool.QueryRow(ctx, "SELECT $1::int", i).Scan(&n)
					if err == nil && n != i {
						err = fmt.Errorf("the answer for %d is %d", i, n)
					}
					failed <- err
				}()
			}
			for range 20 {
				if err := <-failed; err != nil {
					return err
				}
			}
			var batch pgx.Batch
			batch.Queue("SELECT n FROM public.many WHERE n = ANY($1) ORDER BY n", []int64{5, 7})
			batch.Queue("SELECT $1::text[]", []string{"a", "b,c"})
			results := pool.SendBatch(ctx, &batch)
			defer results.Close()
			rows, err := results.Query()
			if err != nil {
				return err
			}
			numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			if err != nil || fmt.Sprint(numbers) != "[5 7]" {
				return fmt.Errorf("numbers are %v: %w", numbers, err)
			}
			var texts []string
			if err := results.QueryRow().Scan(&texts); err != nil || fmt.Sprintf("%q", texts) != `["a" "b,c"]` {
				return fmt.Errorf("texts are %q: %w", texts, err)
			}
			return nil
		},
	}
}
