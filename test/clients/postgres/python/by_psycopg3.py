"""psycopg 3: parameters of the server; it prepares what is sent more than five times. "binary" reads and sends binary."""

import psycopg
from check_base import PASSWORD, Client, expect, expect_rows
from psycopg.types.json import Json


class Psycopg3(Client):
    binary = False

    def open(self, password=PASSWORD, tls=False):
        return psycopg.connect(host=self.host, port=self.port, dbname=self.database, user=self.database, password=password,
                               sslmode="verify-full" if tls else "disable", sslrootcert=self.authority,
                               channel_binding="require" if tls else "prefer", autocommit=True)

    def encrypted(self, c):
        expect(c.pgconn.ssl_in_use, True, "ssl_in_use")

    def close(self, c):
        c.close()

    def mark(self, n):
        return "%b" if self.binary else "%s"

    def json(self, value):
        return Json(value)

    def rows(self, c, sql, *values):
        with c.cursor(binary=self.binary) as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetchall()

    def run(self, c, sql, *values):
        c.execute(sql, values)

    def stream(self, c, sql, size):
        with c.transaction(), c.cursor("walk", binary=self.binary) as cursor:
            cursor.itersize = size
            cursor.execute(sql)
            yield from cursor

    def stop(self, c):
        c.cancel_safe()

    def sqlstate(self, e):
        return e.sqlstate

    def position(self, e):
        return e.diag.statement_position

    def schema(self):
        cursor = self.c.execute("SELECT * FROM types LIMIT 0")
        got = [(d.name, d.type_display) for d in cursor.description]
        expect(got, [("ts", "timestamptz"), ("id", "int4"), ("s", "timestamptz"), ("ms", "timestamptz"),
                     ("us", "timestamptz"), ("i8", "int2"), ("i16", "int2"), ("i64", "int8"), ("u8", "int2"),
                     ("u16", "int4"), ("u32", "int8"), ("u64", "numeric(20,0)"), ("f32", "float4"), ("f64", "float8"),
                     ("b", "bool"), ("t", "text"), ("bin", "bytea"), ("j", "json")], "the description")
        info = psycopg.types.TypeInfo.fetch(self.c, "int8")
        expect((info.oid, info.array_oid), (20, 1016), "TypeInfo")
        expect_rows(self.rows(self.c, "SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY 1",
                              self.database), [("merged",), ("types",)])

    def copy(self):
        with self.c.cursor() as cursor:
            with cursor.copy("COPY types (ts, id, t) FROM STDIN") as copy:
                copy.write_row(("2026-02-01 00:00:00", 100, "a\tb"))
                copy.write_row(("2026-02-01 00:00:01", 101, None))
            with cursor.copy("COPY types (id, i64, t, ts) FROM STDIN (FORMAT binary)") as copy:
                copy.set_types(["int4", "int8", "text", "timestamptz"])
                copy.write_row((102, 2**63 - 1, 'c,"d"', self.rows(self.c_again(), "SELECT '2026-02-01'::timestamptz")[0][0]))
            with cursor.copy("COPY (SELECT id, t, i64 FROM types WHERE id >= 100 ORDER BY id) TO STDOUT") as copy:
                expect(list(copy.rows()), [("100", "a\tb", None), ("101", None, None),
                                           ("102", 'c,"d"', "9223372036854775807")], "the rows")
            with cursor.copy("COPY (SELECT id, t FROM types WHERE id >= 100 ORDER BY id) TO STDOUT (FORMAT binary)") as copy:
                copy.set_types(["int4", "text"])
                expect(list(copy.rows()), [(100, "a\tb"), (101, None), (102, 'c,"d"')], "the binary rows")
            cursor.executemany("INSERT INTO merged (ts, host) VALUES (%s, %s)",
                               [("2026-02-01", "a"), ("2026-02-01", "b")])  # in a pipeline
        with self.c.pipeline():
            a, b = self.c.execute("SELECT count(*) FROM merged"), self.c.execute("SELECT 2")
            expect((a.fetchone(), b.fetchone()), ((2,), (2,)), "what a pipeline returns")

    def c_again(self):
        return self.open()


class Psycopg3Binary(Psycopg3):
    binary = True


def make(variant):
    return Psycopg3Binary if variant == "binary" else Psycopg3
