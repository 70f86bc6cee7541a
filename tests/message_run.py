"""Programs of tests/stdlib/message_passing: compiled, run with messages, and what a link costs."""
import numpy

import harness
import packets_run as packets

PROGRAM = "tests/stdlib/message_passing/layout.csl"
MOST = 32                    # elements of a message


def build(folder, width, height, count, delay=0, queues=(2, 3), half=0):
    image = folder / "messages.bin"
    harness.compile(PROGRAM, image, "--arch=wse3", params={
        "width": width, "height": height, "count": count, "delay": delay, "half": half,
        "input_queue_id": queues[0], "output_queue_id": queues[1]})
    return image


def run(folder, image, targets, lengths, width, height, engine="fast"):
    """As packets_run.run; the receivers know how many messages come."""
    expected = numpy.bincount(targets[targets != packets.NOBODY].ravel(),
                              minlength=width * height)
    return packets.run(folder, image, targets, lengths, width, height, engine, expected=expected)


def cycles_of_a_link(folder, length):
    """What each link more costs a message that is alone on the fabric."""
    image = build(folder, 8, 1, 1)

    def time_over(links):
        targets = numpy.where(numpy.arange(8) == 0, links, packets.NOBODY)[:, None]
        _, times = run(folder, image, targets, numpy.full((8, 1), length), 8, 1)
        return int(times[links, 1] - times[0, 0])

    return (time_over(7) - time_over(2)) / 5
