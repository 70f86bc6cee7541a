#!/usr/bin/python3
"""The reader of out.json survives changes by chance: each file is read or refused with a message,
and what is read has the types that it promises.

    fuzz_out_json.py [SECONDS]      30 minutes without an argument

The seed is from the commit; SEED sets another.

Short form: test_fuzz_short.py::test_changed_out_json_is_read_or_refused.
"""
import argparse
import json

from claims import Claims, commit_seed, harness

STREAM = {"x": 1, "y": 2, "color": 3, "input": True, "size": 4}
LAYOUT = {"params": {"N": "4"}, "arch": "wse3", "exports": [], "layout": {
    "origin_x": -1, "origin_y": 0, "streams": {"in": STREAM, "out": {**STREAM, "input": False}}}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", nargs="?", type=float, default=1800)
    seconds = parser.parse_args().seconds
    claims = Claims()
    file = claims.scratch / "out.json"
    file.write_text(json.dumps(LAYOUT))
    seed = commit_seed()
    print(f"seed {seed}")
    ran = harness.run([harness.tool("cs_python"), harness.ROOT / "tests" / "out_json_calls.py", file,
                       seconds, seed], timeout=seconds + 300, expect=None)
    if ran.code:
        print(ran.err[-3000:])
    read, refused = map(int, ran.out.split()) if not ran.code else (0, 0)
    claims.at_least(f"files read in {seconds} s", read, 10)
    claims.at_least("files refused", refused, 10)
    claims.equals("findings", ran.code, 0)
    claims.finish()


main()
