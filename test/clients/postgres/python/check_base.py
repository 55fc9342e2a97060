"""What is common to the checks of all clients in Python."""

import json
import math
import threading
import time
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

PASSWORD, MANY = "pass wörd's", 100_000
UTC = timezone.utc
TEXT = "Ünïcode ☃ 🎉 'single' \"double\" back\\slash %s $1 ? ; -- \t\nnext"

COLUMNS = "ts id s ms us i8 i16 i64 u8 u16 u32 u64 f32 f64 b t bin j".split()
ROWS = [
    (datetime(2026, 1, 5, 10, 0, 0, 123456, UTC), 1, datetime(1969, 12, 31, 23, 59, 59, 0, UTC),
     datetime(9999, 12, 31, 23, 59, 59, 999000, UTC), datetime(1600, 2, 29, 0, 0, 0, 1, UTC), 127, 32767, 2**63 - 1, 255,
     65535, 2**32 - 1, Decimal(2**64 - 1), math.inf, 1.7976931348623157e308, True, TEXT, bytes(range(256)),
     {"a": [1, "x", None, {"b": "é\"'"}], "n": 12345678901234567}),
    (datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), 2, datetime(9999, 12, 31, 23, 59, 59, 0, UTC),
     datetime(1, 1, 2, 0, 0, 0, 0, UTC), datetime(1970, 1, 1, 0, 0, 0, 0, UTC), -128, -32768, -(2**63), 0, 0, 0, Decimal(0),
     -1.5, math.nan, False, "", b"", []),
    (datetime(2026, 1, 5, 10, 0, 1, 0, UTC), 3) + (None,) * 16,
]


def same(got, want):
    if isinstance(want, float) and math.isnan(want):
        return isinstance(got, float) and math.isnan(got)
    if isinstance(want, (dict, list)) and isinstance(got, str):
        got = json.loads(got)
    if isinstance(want, bytes) and got is not None:
        got = bytes(got)
    if isinstance(want, bool) or isinstance(want, int):
        return got == want and not isinstance(got, float)
    return got == want


def expect(got, want, what=""):
    if not same(got, want):
        raise AssertionError(f"{what} is {got!r}, want {want!r}")


def expect_rows(got, want, names=None):
    expect(len(got), len(want), "the number of rows")
    for g, w in zip(got, want):
        for i, (a, b) in enumerate(zip(g, w, strict=True)):
            expect(a, b, names[i] if names else f"column {i}")


class Client:
    """What the checks need of a client. Statements have the placeholders that mark() returns."""

    # Types that a client returns differently are listed with its class.
    values = [
        # expression, parameter, what is read; a minus sign binds weaker than ::
        ("CAST({} AS smallint)", -32768, -32768), ("{}::int", 2**31 - 1, 2**31 - 1), ("CAST({} AS bigint)", -(2**63), -(2**63)),
        ("CAST({} AS numeric(20,4))", Decimal("-1234567890123456.7891"), Decimal("-1234567890123456.7891")),
        ("{}::real", 1.5, 1.5), ("{}::double precision", 5e-324, 5e-324), ("{}::double precision", -math.inf, -math.inf),
        ("{}::boolean", True, True), ("{}::text", TEXT, TEXT), ("{}::bytea", b"\x00\xff'\\", b"\x00\xff'\\"),
        ("{}::date", date(9999, 12, 31), date(9999, 12, 31)),
        ("{}::timestamptz", datetime(2026, 1, 5, 10, 0, 0, 1, UTC), datetime(2026, 1, 5, 10, 0, 0, 1, UTC)),
        ("{}::timestamptz", datetime(1969, 12, 31, 20, 0, 0, 5, timezone(timedelta(hours=-5))),
         datetime(1970, 1, 1, 1, 0, 0, 5, UTC)),
        ("{}::uuid", UUID("00112233-4455-6677-8899-aabbccddeeff"), UUID("00112233-4455-6677-8899-aabbccddeeff")),
        ("{}::bigint[]", [1, None, 2**63 - 1], [1, None, 2**63 - 1]), ("{}::text[]", ["a,b", 'q"', None, "NULL", ""],
                                                                       ["a,b", 'q"', None, "NULL", ""]),
        ("{}::interval", timedelta(days=3, hours=4, microseconds=5), timedelta(days=3, hours=4, microseconds=5)),
        ("{}::bigint", None, None), ("{}::text", None, None), ("{}::timestamptz", None, None),
    ]

    def __init__(self, host, port, database, authority):
        self.host, self.port, self.database, self.authority = host, int(port), database, authority
        self.c = None

    def json(self, value):
        """Returns a document as a parameter."""
        return json.dumps(value, ensure_ascii=False)

    def blob(self, value):
        return value

    def numeric(self, value):
        return value

    # The checks.

    def connect(self):
        expect_rows(self.rows(self.c, "SELECT current_database(), current_user"), [(self.database, self.database)])
        try:
            self.open(password="wrong")
        except Exception as e:
            if "password authentication failed" not in str(e):
                raise
        else:
            raise AssertionError("a wrong password was accepted")

    def tls(self):
        c = self.open(tls=True)
        expect_rows(self.rows(c, "SELECT 42"), [(42,)])
        self.encrypted(c)
        self.close(c)

    def parameters(self):
        m = self.mark(1)
        for expression, value, want in self.values:
            sql = "SELECT " + expression.format(m) + " AS v"
            for _ in range(7):  # some clients prepare a statement only if it is repeated
                expect_rows(self.rows(self.c, sql, value), [(want,)], [sql])
        expect_rows(self.rows(self.c, f"SELECT n FROM public.many WHERE n >= {m} AND n < {self.mark(2)} AND t <> "
                              f"{self.mark(3)} ORDER BY n LIMIT {self.mark(4)}", 5, 10, "row 6", 3), [(5,), (7,), (8,)])

    def types(self):
        names = ", ".join(COLUMNS)
        marks = ", ".join(self.mark(i + 1) for i in range(len(COLUMNS)))
        for row in ROWS:
            values = [self.json(v) if n == "j" and v is not None else self.blob(v) if n == "bin" and v is not None else v
                      for n, v in zip(COLUMNS, row)]
            self.run(self.c, f"INSERT INTO types ({names}) VALUES ({marks})", *values)
        expect_rows(self.rows(self.c, f"SELECT {names} FROM types ORDER BY id"),
                    [tuple(self.read(v) for v in row) for row in ROWS], COLUMNS)
        for row in ROWS[:2]:
            for name, value in zip(COLUMNS, row):
                if name in ("f64", "f32", "j", "bin"):
                    continue
                expect_rows(self.rows(self.c, f"SELECT id FROM types WHERE {name} = {self.mark(1)} AND id < 3", value),
                            [(row[1],)], [name])
        if self.arrays:
            expect_rows(self.rows(self.c, f"SELECT count(*) FROM types WHERE id = ANY({self.mark(1)})", [1, 3]), [(2,)])

    arrays = True
    # What a client reads for the row of a value.
    read = staticmethod(lambda value: value)

    def fetch(self):
        n = total = 0
        for row in self.stream(self.c, "SELECT n, t FROM public.many ORDER BY n", 1000):
            if row[0] != n or row[1] != f"row {n}":
                raise AssertionError(f"row {n} is {row!r}")
            n, total = n + 1, total + row[0]
        expect(n, MANY, "the number of rows")

    def cancel(self):
        c = self.open()
        timer = threading.Timer(0.5, lambda: self.stop(c))
        timer.start()
        begun = time.monotonic()
        try:
            self.rows(c, "SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 1000000) b(y) "
                         "WHERE x % 7 = y % 13")
        except Exception as e:
            expect(self.sqlstate(e), "57014", "the SQLSTATE of " + repr(e))
        else:
            raise AssertionError("the statement was not cancelled")
        if time.monotonic() - begun > 10:
            raise AssertionError("it took more than 10 s")
        timer.join()
        self.recover(c)
        expect_rows(self.rows(c, "SELECT 1"), [(1,)])
        self.close(c)

    def errors(self):
        for sql, state, position in [
            ("SELECT missing FROM types", "42703", 8), ("SELECT id FROM missing", "42P01", 16),
            ("SELECT 'é', missing FROM types", "42703", 13), ("SELEC 1", "42601", 1),
            ("SELECT 1/x FROM (SELECT 'a'::int AS x) AS s", "22P02", None), ("UPDATE types SET id = 1", "0A000", None),
        ]:
            try:
                self.rows(self.c, sql)
            except Exception as e:
                expect(self.sqlstate(e), state, f"the SQLSTATE of {sql} ({e!r})")
                got = self.position(e)
                if got is not None and position is not None:
                    expect(int(got), position, f"the position of {sql}")
            else:
                raise AssertionError(f"{sql} succeeded")
            self.recover(self.c)
            expect_rows(self.rows(self.c, "SELECT 1"), [(1,)])

    def recover(self, c):
        """Makes the connection usable after an error."""

    def position(self, e):
        return None
