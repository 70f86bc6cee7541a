#!/usr/bin/python3
"""A soak of the data movers: packets of random lengths after random pauses, in sessions that end by
count and by the worker's last packet, pushed and pulled, over links of random latency, rate and
credits.  No packet is lost, overrun or out of order.  LINK_PACKETS says how many at least (10^7).

Short form: test_links.py::test_nothing_is_lost_or_out_of_order.
"""
import os

import numpy

from claims import Claims, commit_seed
import links_run

PACKETS = int(os.environ.get("LINK_PACKETS", 10_000_000))
OF_A_RUN = 40_000


def soak_traffic(random):
    """Short packets, so that there are many."""
    traffic = links_run.random_traffic(random, str(random.choice(["wse2", "wse3"])))
    traffic.packet_words = int(2 ** random.integers(1, 5))
    traffic.pauses = int(2 ** random.integers(0, 7) - 1)
    lanes = 2 * traffic.channels
    traffic.packets = int(random.integers(50, max(OF_A_RUN // lanes // 4, 60)))
    traffic.sessions = max(OF_A_RUN // lanes // traffic.packets, 1)
    return traffic


def main():
    claims = Claims()
    moved = sessions = runs = 0
    ends, wrong = set(), []
    while moved < PACKETS:
        random = numpy.random.default_rng([commit_seed(), runs])
        traffic = soak_traffic(random)
        _, seen, _ = links_run.emu(traffic, claims.scratch, "--max-cycles=100000000000",
                                   timeout=3600)
        wrong += links_run.mistakes(traffic, seen)
        lanes = 2 * traffic.channels
        moved += lanes * traffic.packets * traffic.sessions
        sessions += lanes * traffic.sessions
        ends.add((traffic.counted, traffic.pulls))
        runs += 1
        if runs % 10 == 0:
            print(f"  {moved} packets in {sessions} sessions, {len(wrong)} mistakes", flush=True)
    claims.at_least("packets", moved, PACKETS)
    claims.at_least("sessions", sessions, PACKETS // OF_A_RUN)
    claims.check("ends by count and by the last packet, pushed and pulled", len(ends), "= 4",
                 len(ends) == 4 or PACKETS < 10 * OF_A_RUN)
    claims.equals("packets lost, overrun or out of order", len(wrong), 0)
    for text in wrong[:10]:
        print(f"  {text}")
    claims.finish()


main()
