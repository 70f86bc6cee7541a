"""Where releases of the SDK up to 0.8 had CSELFRunner, which this project does not have."""

raise ImportError("cerebras.elf, with CSELFRunner, was part of the SDK up to release 0.8 and is not "
                  "available here; scripts of later releases use SdkRuntime from "
                  "cerebras.sdk.runtime.sdkruntimepybind (docs/host.md)")
