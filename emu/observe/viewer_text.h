/* The application of viewer/, built from viewer/dist by emu/CMakeLists.txt. */
#ifndef VIEWER_TEXT_H
#define VIEWER_TEXT_H

#include <stddef.h>

extern const unsigned char viewer_js[], viewer_css[];
extern const size_t viewer_js_bytes, viewer_css_bytes;

#endif
