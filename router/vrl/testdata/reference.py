"""Run programs with the reference implementation of VRL.

It reads lines of the form {"source": program, "event": event} and answers each with a line: {"value": event after the
run}, {"compile": error}, {"run": error}, or {"panic": error} after a fault of the reference. It needs the package
vector-vrl, which contains the Rust crate vrl.
"""

import json
import sys

from vector_vrl import execute_vrl

for line in sys.stdin:
    request = json.loads(line)
    try:
        event = execute_vrl(request["source"], [json.dumps(request["event"])])[0]
        answer = {"run": event["error"]} if set(event) == {"error", "original"} else {"value": event}
    except ValueError as e:
        answer = {"compile": str(e)}
    except BaseException as e:  # the class of panics is not exported
        answer = {"panic": str(e)}
    print(json.dumps(answer), flush=True)
