"""Reads an Iceberg table with Spark and prints a summary of it: read.py JAR files TABLE-FOLDER, or read.py JAR rest URI
TOKEN NAMESPACE TABLE."""

import json
import sys

from pyspark.sql import functions as f

from session import session


def main():
    jar, how, *args = sys.argv[1:]
    if how == "rest":
        uri, token, namespace, name = args
        spark = session(jar, uri, token)
    else:
        spark = session(jar)
    if how == "rest":
        names = [r.tableName for r in spark.sql(f"SHOW TABLES IN lake.`{namespace}`").collect()]
        if name not in names:
            raise SystemExit(f"tables: {names}")
        table = spark.table(f"lake.`{namespace}`.`{name}`")
    else:
        table = spark.read.format("iceberg").load(args[0])
    each = [f.count(f.lit(1)).alias("rows")]
    for i, (name, kind) in enumerate(table.dtypes):
        column, unit = f.col(f"`{name}`"), ""
        value = column
        if kind.startswith("timestamp"):
            value, unit = f.unix_micros(column.cast("timestamp")).cast("decimal(38,0)"), "us"
        elif kind in ("string", "binary"):
            value = f.length(column)
        elif kind == "boolean":
            value = column.cast("int")
        elif kind in ("bigint", "int", "decimal(20,0)"):
            value = column.cast("decimal(38,0)")
        each += [
            f.count(column).alias(f"values{i}"),
            f.countDistinct(column).alias(f"distinct{i}"),
            f.sum(value).alias(f"sum{i}"),
            f.lit(unit).alias(f"unit{i}"),
        ]
    row = table.agg(*each).collect()[0].asDict()
    columns = {}
    for i, (name, _) in enumerate(table.dtypes):
        columns[name] = {
            "values": row[f"values{i}"],
            "distinct": row[f"distinct{i}"],
            "sum": str(row[f"sum{i}"] or 0),
            "unit": row[f"unit{i}"],
        }
    print("\n" + json.dumps({"rows": row["rows"], "columns": columns}))
    spark.stop()


main()
