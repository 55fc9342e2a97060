"""Carries out the checks of a client of PostgreSQL: check.py CLIENT HOST PORT DATABASE AUTHORITY.

A line is printed for each check: "ok CHECK", or "failed CHECK TEXT".
"""

import importlib
import sys
import traceback

CHECKS = ["connect", "tls", "schema", "parameters", "types", "fetch", "cancel", "errors", "copy"]


def main():
    name = sys.argv[1]
    module, _, variant = name.partition("-")
    client = importlib.import_module("by_" + module).make(variant)(*sys.argv[2:])
    client.c = client.open()
    for check in CHECKS:
        try:
            carry_out = getattr(client, check, None)
            if carry_out is None:
                continue
            carry_out()
            print("ok", check)
        except Exception as e:
            text = "".join(traceback.format_exception(e)[-4:])[:3000]
            print("failed", check, text.replace("\n", "\\n"))
            client.c = client.open()
        sys.stdout.flush()


main()
