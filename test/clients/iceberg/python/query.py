"""Runs statements with DuckDB, and filters with PyIceberg: query.py duckdb|pyiceberg URI TOKEN NAMESPACE TABLE. It reads a
JSON list, and prints a JSON list with an answer for each: a list of rows of texts, or the text of the error. The answer
to a filter is the number of rows."""

import json
import sys

from read import attach, pyiceberg_table


def text(v):
    if v is None:
        return "null"
    if isinstance(v, bool):
        return str(v).lower()
    if isinstance(v, bytes):
        return v.hex()
    return str(v)


def main():
    engine, *args = sys.argv[1:]
    if engine == "duckdb":
        c = attach(args[0], args[1])

        def run(statement):
            return [[text(v) for v in row] for row in c.execute(statement).fetchall()]
    else:
        table = pyiceberg_table("rest", args)

        def run(row_filter):
            return [[text(table.scan(row_filter=row_filter).to_arrow().num_rows)]]

    answers = []
    for one in json.load(sys.stdin):
        try:
            answers.append(run(one))
        except Exception as e:
            answers.append(str(e)[:1000])
    print(json.dumps(answers))


main()
