"""cerebras.sdk.debug.debug_util, where scripts for the appliance look for it."""

from cerebras.sdk.debug.debug_util import *  # noqa: F401,F403
from cerebras.sdk.debug.debug_util import __all__  # noqa: F401
