/* The one instance of stb_ds's functions.  A file of its own, because its string hash shifts
 * signed integers and must be compiled without the undefined-behaviour sanitizer. */
#include "ir/base/base.h"

#define STB_DS_IMPLEMENTATION
#include <stb_ds.h>
