"""asyncpg: prepared statements with binary values only."""

import asyncio
import io
import ssl

import asyncpg
from check_base import PASSWORD, Client, expect, expect_rows

loop = asyncio.new_event_loop()


class AsyncPG(Client):
    def open(self, password=PASSWORD, tls=False):
        return loop.run_until_complete(asyncpg.connect(
            host=self.host, port=self.port, database=self.database, user=self.database, password=password,
            ssl=ssl.create_default_context(cafile=self.authority) if tls else "disable"))

    def encrypted(self, c):
        expect(c._transport.get_extra_info("ssl_object") is not None, True, "TLS")

    def close(self, c):
        loop.run_until_complete(c.close())

    def mark(self, n):
        return f"${n}"

    def rows(self, c, sql, *values):
        return [tuple(r) for r in loop.run_until_complete(c.fetch(sql, *values))]

    def run(self, c, sql, *values):
        loop.run_until_complete(c.execute(sql, *values))

    def stream(self, c, sql, size):
        async def walk():
            rows = []
            async with c.transaction():
                async for row in c.cursor(sql, prefetch=size):
                    rows.append(row)
            return rows
        yield from loop.run_until_complete(walk())

    def cancel(self):
        async def stop():
            c = await asyncpg.connect(host=self.host, port=self.port, database=self.database, user=self.database,
                                      password=PASSWORD, ssl="disable")
            try:  # a timeout makes it send a request to cancel
                await c.fetch("SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 1000000) b(y) "
                              "WHERE x % 7 = y % 13", timeout=0.5)
            except asyncio.TimeoutError:
                pass
            else:
                raise AssertionError("the statement was not cancelled")
            expect(await asyncio.wait_for(c.fetchval("SELECT 1"), 10), 1, "SELECT 1")
            await c.close()
        loop.run_until_complete(stop())

    def sqlstate(self, e):
        return getattr(e, "sqlstate", None)

    def position(self, e):
        return e.position

    def schema(self):
        async def attributes():
            statement = await self.c.prepare("SELECT * FROM types WHERE id = $1 AND t = $2 AND ts > $3")
            return ([(a.name, a.type.name) for a in statement.get_attributes()],
                    [p.name for p in statement.get_parameters()])
        columns, parameters = loop.run_until_complete(attributes())
        expect(columns, [("ts", "timestamptz"), ("id", "int4"), ("s", "timestamptz"), ("ms", "timestamptz"),
                         ("us", "timestamptz"), ("i8", "int2"), ("i16", "int2"), ("i64", "int8"), ("u8", "int2"),
                         ("u16", "int4"), ("u32", "int8"), ("u64", "numeric"), ("f32", "float4"), ("f64", "float8"),
                         ("b", "bool"), ("t", "text"), ("bin", "bytea"), ("j", "json")], "the columns")
        expect(parameters, ["int4", "text", "timestamptz"], "the parameters")
        expect_rows(self.rows(self.c, "SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY 1",
                              self.database), [("merged",), ("types",)])

    def copy(self):
        async def copy():
            rows = await self.c.fetch("SELECT '2026-02-01'::timestamptz AS ts")
            at = rows[0]["ts"]
            expect(await self.c.copy_records_to_table("types", columns=["ts", "id", "t", "i64"],
                                                      records=[(at, 100, "a\tb", 2**63 - 1), (at, 101, None, None)]), "COPY 2")
            await self.c.copy_to_table("types", columns=["ts", "id", "t"], format="csv",
                                       source=io.BytesIO(b'2026-02-01 00:00:02,102,"c,""d"""\n'))
            out = io.BytesIO()
            await self.c.copy_from_query("SELECT id, t, i64 FROM types WHERE id >= $1 ORDER BY id", 100, output=out)
            expect(out.getvalue(), b'100\ta\\tb\t9223372036854775807\n101\t\\N\t\\N\n102\tc,"d"\t\\N\n', "the text")
            out = io.BytesIO()
            await self.c.copy_from_table("merged", output=out)
            expect(out.getvalue(), b"", "the table without rows")
            await self.c.executemany("INSERT INTO merged (ts, host) VALUES ($1, $2)", [(at, "a"), (at, "b")])
            expect(await self.c.fetchval("SELECT count(*) FROM merged"), 2, "the rows of executemany")
        loop.run_until_complete(copy())


def make(variant):
    return AsyncPG
