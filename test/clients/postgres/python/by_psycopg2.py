"""psycopg2: values are put into the text by the client. Cursors with a name are cursors of the server."""

import io
import json

import psycopg2
import psycopg2.extras
from check_base import PASSWORD, Client, expect, expect_rows

psycopg2.extras.register_uuid()


class Psycopg2(Client):
    def open(self, password=PASSWORD, tls=False):
        c = psycopg2.connect(host=self.host, port=self.port, dbname=self.database, user=self.database, password=password,
                             sslmode="verify-full" if tls else "disable", sslrootcert=self.authority)
        c.autocommit = True
        return c

    def encrypted(self, c):
        expect(c.info.ssl_in_use, True, "ssl_in_use")

    def close(self, c):
        c.close()

    def mark(self, n):
        return "%s"

    def blob(self, value):
        return psycopg2.Binary(value)

    def rows(self, c, sql, *values):
        with c.cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetchall()

    def run(self, c, sql, *values):
        with c.cursor() as cursor:
            cursor.execute(sql, values)

    def stream(self, c, sql, size):
        c.autocommit = False
        with c.cursor("walk") as cursor:
            cursor.itersize = size
            cursor.execute(sql)
            yield from cursor
        c.commit()
        c.autocommit = True

    def stop(self, c):
        c.cancel()

    def sqlstate(self, e):
        return e.pgcode

    def position(self, e):
        return e.diag.statement_position

    def schema(self):
        with self.c.cursor() as cursor:
            cursor.execute("SELECT * FROM types LIMIT 0")
            got = [(d.name, d.type_code) for d in cursor.description]
        expect(got, [("ts", 1184), ("id", 23), ("s", 1184), ("ms", 1184), ("us", 1184), ("i8", 21), ("i16", 21), ("i64", 20),
                     ("u8", 21), ("u16", 23), ("u32", 20), ("u64", 1700), ("f32", 700), ("f64", 701), ("b", 16), ("t", 25),
                     ("bin", 17), ("j", 114)], "the description")
        expect_rows(self.rows(self.c, "SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY 1",
                              self.database), [("merged",), ("types",)])

    def copy(self):
        with self.c.cursor() as cursor:
            cursor.copy_from(io.StringIO("2026-02-01 00:00:00\t100\ta\\tb\n2026-02-01 00:00:01\t101\t\\N\n"), "types",
                             columns=("ts", "id", "t"))
            cursor.copy_expert("COPY types (ts, id, t) FROM STDIN WITH (FORMAT csv)",
                               io.StringIO('2026-02-01 00:00:02,102,"c,""d"""\n'))
            out = io.StringIO()
            cursor.copy_expert("COPY (SELECT id, t, ts FROM types WHERE id >= 100 ORDER BY id) TO STDOUT", out)
            expect(out.getvalue(), "100\ta\\tb\t2026-02-01 00:00:00+00\n101\t\\N\t2026-02-01 00:00:01+00\n"
                   '102\tc,"d"\t2026-02-01 00:00:02+00\n', "the text")
            out = io.StringIO()
            cursor.copy_to(out, "merged")
            expect(out.getvalue(), "", "the table without rows")
        psycopg2.extras.execute_values(self.c.cursor(), "INSERT INTO merged (ts, host) VALUES %s",
                                       [("2026-02-01", "a"), ("2026-02-01", "b")])
        expect_rows(self.rows(self.c, "SELECT host, took FROM merged ORDER BY 1"), [("a", 1.5), ("b", 1.5)])

    def json(self, value):
        return json.dumps(value, ensure_ascii=False)


def make(variant):
    return Psycopg2
