"""cerebras.sdk.sdk_utils, where scripts for the appliance look for it."""

from cerebras.sdk.sdk_utils import *  # noqa: F401,F403
from cerebras.sdk.sdk_utils import __all__  # noqa: F401
