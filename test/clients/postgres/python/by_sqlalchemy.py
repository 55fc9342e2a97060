"""SQLAlchemy 2 with pandas, over the driver that the variant names."""

import importlib
import ssl
from datetime import datetime, timezone

import pandas
import sqlalchemy
from check_base import MANY, PASSWORD, Client, expect, expect_rows
from sqlalchemy import text


class SQLAlchemy(Client):
    driver = "psycopg2"
    cancel = None  # its API has no such call

    def open(self, password=PASSWORD, tls=False):
        if self.driver == "pg8000":
            args = {"ssl_context": ssl.create_default_context(cafile=self.authority) if tls else False}
        else:
            args = {"sslmode": "verify-full" if tls else "disable", "sslrootcert": self.authority}
        url = sqlalchemy.URL.create("postgresql+" + self.driver, self.database, password, self.host, self.port, self.database)
        return sqlalchemy.create_engine(url, connect_args=args, isolation_level="AUTOCOMMIT").connect()

    def encrypted(self, c):
        pass  # verify-full

    def close(self, c):
        c.close()

    def mark(self, n):
        return f":v{n}"

    def rows(self, c, sql, *values):
        sql = sql.replace("::", "\\:\\:")
        return [tuple(r) for r in c.execute(text(sql), {f"v{i + 1}": v for i, v in enumerate(values)})]

    def run(self, c, sql, *values):
        c.execute(text(sql), {f"v{i + 1}": v for i, v in enumerate(values)})

    def stream(self, c, sql, size):
        c = c.engine.execution_options(isolation_level="READ COMMITTED").connect()
        yield from c.execution_options(stream_results=True, yield_per=size).execute(text(sql))
        c.close()
        frames = list(pandas.read_sql(sql, self.c.execution_options(), chunksize=30_000))
        expect(sum(len(f) for f in frames), MANY, "the rows of pandas")

    def sqlstate(self, e):
        o = e.orig
        if self.driver == "pg8000":
            return o.args[0]["C"]
        return getattr(o, "sqlstate", None) or getattr(o, "pgcode", None)

    def position(self, e):
        return e.orig.args[0].get("P") if self.driver == "pg8000" else e.orig.diag.statement_position

    def schema(self):
        i = sqlalchemy.inspect(self.c)
        expect(self.database in i.get_schema_names(), True, "the schema's name in get_schema_names")
        expect(sorted(i.get_table_names()), ["merged", "types"], "get_table_names")
        expect(i.has_table("types"), True, "has_table")
        got = [(c["name"], str(c["type"]), c["nullable"]) for c in i.get_columns("types")]
        expect(got[:4], [("ts", "TIMESTAMP", False), ("id", "INTEGER", True), ("s", "TIMESTAMP", True),
                         ("ms", "TIMESTAMP", True)], "get_columns")
        expect(got[7], ("i64", "BIGINT", True), "the column i64")
        expect(sorted(i.get_pk_constraint("merged")["constrained_columns"]), ["host", "ts"], "get_pk_constraint")
        expect([x["name"] for x in i.get_indexes("merged")], [], "get_indexes")
        expect(i.get_foreign_keys("merged"), [], "get_foreign_keys")
        expect(i.get_unique_constraints("merged"), [], "get_unique_constraints")
        expect(i.get_check_constraints("merged"), [], "get_check_constraints")
        expect(i.get_table_comment("merged")["text"], "rows by host", "get_table_comment")
        expect(i.get_view_names(), [], "get_view_names")
        metadata = sqlalchemy.MetaData()
        metadata.reflect(self.c)
        types = metadata.tables["types"]
        table = metadata.tables["merged"]
        at = datetime(2026, 2, 1, tzinfo=timezone.utc)
        self.c.execute(sqlalchemy.insert(table), [{"ts": at, "host": h, "took": 2.5} for h in "abc"])
        got = self.c.execute(sqlalchemy.select(table.c.host, sqlalchemy.func.sum(table.c.took).label("s")).where(
            table.c.ts >= at, table.c.host.in_(["a", "b"])).group_by(table.c.host).order_by(table.c.host)).all()
        expect_rows(got, [("a", 2.5), ("b", 2.5)])
        expect(self.c.execute(sqlalchemy.select(sqlalchemy.func.count()).select_from(types).where(
            types.c.i64 == 2**63 - 1)).scalar_one(), 0, "the number of rows")

    def types(self):
        super().types()
        frame = pandas.read_sql(text("SELECT ts, id, i64, f64, t, b FROM types WHERE id < 3 ORDER BY id"), self.c)
        expect(str(frame.dtypes["i64"]), "int64", "pandas' type of i64")
        expect(str(frame.dtypes["ts"]).endswith("UTC]"), True, "pandas' type of ts " + str(frame.dtypes["ts"]))
        expect(int(frame["i64"][0]), 2**63 - 1, "i64 in pandas")
        frame = pandas.DataFrame({"ts": pandas.to_datetime(["2026-03-01", "2026-03-02"], utc=True), "host": ["x", "y"],
                                  "took": [0.5, None]})
        frame.to_sql("merged", self.c, if_exists="append", index=False)
        expect_rows(self.rows(self.c, "SELECT host, took FROM merged WHERE ts >= '2026-03-01' ORDER BY ts"),
                    [("x", 0.5), ("y", None)])


def make(variant):
    name = {"psycopg3": "psycopg"}.get(variant, variant)
    importlib.import_module(name)
    return type("SQLAlchemyBy" + variant, (SQLAlchemy,), {"driver": name})
