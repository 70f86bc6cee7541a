"""The logger of scripts for the appliance.

    from cerebras.appliance import logger
    logger.setLevel(logging.INFO)

Nothing is sent to a cluster here, so nothing but the script itself logs with it: everything that
the logger `cerebras.appliance` of Python's logging has is found in this module, then everything
that logging has.
"""

import logging

_LOGGER = logging.getLogger("cerebras.appliance")


def __getattr__(name):
    return getattr(_LOGGER if hasattr(_LOGGER, name) else logging, name)
