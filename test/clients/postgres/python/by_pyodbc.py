"""pyodbc over psqlODBC, the driver of Debian's package odbc-postgresql."""

from datetime import datetime, timedelta, timezone
from uuid import UUID

import pyodbc
from check_base import PASSWORD, Client, expect

pyodbc.pooling = False


def naive(value):
    """ODBC has times without a zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(timezone.utc).replace(tzinfo=None)
    return value


class ODBC(Client):
    # ODBC has no arrays and intervals, and uuid is a text for pyodbc.
    values = [(e, v, naive(w)) for e, v, w in Client.values if not isinstance(v, (list, timedelta, UUID))]
    read = staticmethod(naive)
    arrays = False
    declare_fetch = 0

    def open(self, password=PASSWORD, tls=False):
        mode = "verify-full" if tls else "disable"
        return pyodbc.connect(f"DRIVER={{PostgreSQL Unicode}};SERVER={self.host};PORT={self.port};DATABASE={self.database};"
                              f"UID={self.database};PWD={{{password}}};SSLmode={mode};pqopt={{sslrootcert={self.authority}}};"
                              f"UseDeclareFetch={self.declare_fetch};Fetch=1000;ByteaAsLongVarBinary=1;BoolsAsChar=0;"
                              "MaxVarcharSize=8190", autocommit=True)

    def encrypted(self, c):
        pass  # verify-full

    def close(self, c):
        c.close()

    def mark(self, n):
        return "?"

    def rows(self, c, sql, *values):
        self.cursor = c.cursor()
        return [tuple(r) for r in self.cursor.execute(sql, *[naive(v) for v in values]).fetchall()]

    def run(self, c, sql, *values):
        c.cursor().execute(sql, *[naive(v) for v in values]).close()

    def stream(self, c, sql, size):
        cursor = c.cursor()
        cursor.execute(sql)
        while rows := cursor.fetchmany(size):
            yield from rows
        cursor.close()

    def stop(self, c):
        self.cursor.cancel()

    def sqlstate(self, e):
        return e.args[0]

    def schema(self):
        cursor = self.c.cursor()
        expect(sorted(r.table_name for r in cursor.tables(schema=self.database)), ["merged", "types"], "SQLTables")
        expect(self.database in [r.table_schem for r in cursor.tables(schema="%", catalog="", table="")], True, "the schemas")
        columns = [(r.column_name, r.type_name, r.nullable) for r in cursor.columns(table="types", schema=self.database)]
        expect(columns[:4], [("ts", "timestamptz", 0), ("id", "int4", 1), ("s", "timestamptz", 1), ("ms", "timestamptz", 1)],
               "SQLColumns")
        expect(columns[7], ("i64", "int8", 1), "the column i64")
        expect(len(columns), 18, "the number of columns")
        expect(sorted(r.column_name for r in cursor.primaryKeys("merged", schema=self.database)), ["host", "ts"],
               "SQLPrimaryKeys")
        expect(len(cursor.statistics("merged", schema=self.database).fetchall()) > 0, True, "SQLStatistics has rows")
        expect(len(cursor.getTypeInfo().fetchall()) > 10, True, "SQLGetTypeInfo has types")
        expect(cursor.foreignKeys("merged", schema=self.database).fetchall(), [], "SQLForeignKeys")
        expect(self.c.getinfo(pyodbc.SQL_DBMS_NAME), "PostgreSQL", "SQL_DBMS_NAME")
        cursor.execute("SELECT id, i64, f64, t, ts FROM types")
        expect([(d[0], d[1]) for d in cursor.description], [("id", int), ("i64", int), ("f64", float), ("t", str),
                                                            ("ts", datetime)], "the description")


class Fetching(ODBC):
    declare_fetch = 1


def make(variant):
    return Fetching if variant == "fetch" else ODBC
