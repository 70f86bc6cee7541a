"""Where scripts for the appliance find the kinds of copies."""

from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder

__all__ = ["MemcpyDataType", "MemcpyOrder"]
