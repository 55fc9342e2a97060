"""Runs statements with Spark: query.py JAR URI TOKEN. It reads a JSON list of statements, and prints a JSON list with an
answer for each: a list of rows of texts, or the text of the error."""

import json
import sys

from session import session


def text(v):
    if v is None:
        return "null"
    if isinstance(v, bool):
        return str(v).lower()
    if isinstance(v, (bytes, bytearray)):
        return v.hex()
    return str(v)


def main():
    jar, uri, token = sys.argv[1:]
    spark = session(jar, uri, token)
    answers = []
    for statement in json.load(sys.stdin):
        try:
            answers.append([[text(v) for v in row] for row in spark.sql(statement).collect()])
        except Exception as e:
            answers.append(str(e)[:1000])
    print("\n" + json.dumps(answers))
    spark.stop()


main()
