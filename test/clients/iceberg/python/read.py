"""Reads an Iceberg table and prints a summary of it: read.py ENGINE files METADATA-FILE, or read.py ENGINE rest URI TOKEN
NAMESPACE TABLE. The engines are pyiceberg, polars, pandas and duckdb."""

import glob
import json
import os
import sys

import pyarrow as pa
import pyarrow.compute as pc


def columns_of(table):
    """Returns the summary of the columns of an Arrow table."""
    out = {}
    for name in table.column_names:
        column, unit = table[name], ""
        kind = column.type
        if pa.types.is_timestamp(kind):
            unit, column = kind.unit, column.cast(pa.int64())
        elif pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        values = column.to_pylist()
        values = [v for v in values if v is not None]
        if values and isinstance(values[0], (str, bytes)):
            total = sum(len(v) for v in values)
        else:
            total = sum(int(v) if isinstance(v, bool) else v for v in values)
        out[name] = {"values": len(values), "distinct": len(set(values)), "sum": str(total), "unit": unit}
    return out


def pyiceberg_table(how, args):
    if how == "files":
        from pyiceberg.table import StaticTable

        return StaticTable.from_metadata(args[0])
    from pyiceberg.catalog import load_catalog

    uri, token, namespace, name = args
    catalog = load_catalog("c", type="rest", uri=uri, token=token)
    if (namespace,) not in catalog.list_namespaces():
        raise SystemExit(f"namespaces: {catalog.list_namespaces()}")
    if [(namespace, name)] != [t for t in catalog.list_tables(namespace) if t[1] == name]:
        raise SystemExit(f"tables: {catalog.list_tables(namespace)}")
    if not catalog.table_exists((namespace, name)):
        raise SystemExit("table_exists is false")
    return catalog.load_table((namespace, name))


def connect():
    """Returns a DuckDB connection with the extensions of the installed packages."""
    import duckdb
    import duckdb_extension_avro
    import duckdb_extension_httpfs
    import duckdb_extension_iceberg

    c = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for package in (duckdb_extension_httpfs, duckdb_extension_avro, duckdb_extension_iceberg):
        folder = os.path.dirname(package.__file__)
        (file,) = glob.glob(f"{folder}/extensions/v{duckdb.__version__}/*.duckdb_extension")
        c.execute(f"LOAD '{file}'")
    return c


def attach(uri, token):
    """Returns a DuckDB connection with the catalog "lake"."""
    c = connect()
    if "S3_ENDPOINT" in os.environ:
        e = os.environ
        c.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{e['AWS_ACCESS_KEY_ID']}', SECRET '{e['AWS_SECRET_ACCESS_KEY']}', "
            f"ENDPOINT '{e['S3_ENDPOINT']}', REGION '{e['AWS_REGION']}', URL_STYLE 'path', USE_SSL false)"
        )
    c.execute(f"ATTACH '' AS lake (TYPE iceberg, ENDPOINT '{uri}', TOKEN '{token}')")
    return c


def duckdb_table(how, args):
    if how == "files":
        return connect().execute(f"SELECT * FROM iceberg_scan('{args[0]}')").to_arrow_table()
    uri, token, namespace, name = args
    return attach(uri, token).execute(f'SELECT * FROM lake."{namespace}"."{name}"').to_arrow_table()


def main():
    engine, how, *args = sys.argv[1:]
    if engine == "duckdb":
        table = duckdb_table(how, args)
    else:
        source = pyiceberg_table(how, args)
        if engine == "polars":
            table = source.to_polars().collect().to_arrow()
        elif engine == "pandas":
            frame = source.scan().to_pandas()
            print(json.dumps({"rows": len(frame), "columns": {n: {"values": int(frame[n].count())} for n in frame}}))
            return
        else:
            table = source.scan().to_arrow()
    print(json.dumps({"rows": table.num_rows, "columns": columns_of(table)}))


if __name__ == "__main__":
    main()
