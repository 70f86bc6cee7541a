# The libraries of others: installed ones, or for WebAssembly the same ones built from the sources
# that playground/fetch_sources.sh has unpacked: targets foreign_z, foreign_gmp, foreign_jansson and
# foreign_zstd.
find_package(Threads REQUIRED)
find_path(STB_FOUND_DIR stb_ds.h PATHS /usr/include PATH_SUFFIXES stb NO_CMAKE_FIND_ROOT_PATH REQUIRED)
find_path(UTHASH_FOUND_DIR uthash.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
set(HEADER_DIRS ${STB_FOUND_DIR} ${UTHASH_FOUND_DIR})
if(NOT EMSCRIPTEN)
  find_library(EDIT_LIBRARY edit REQUIRED)
  # Programs take the archive of a library, where there is one: a program starts sooner when it loads
  # two or three files less, and many commands take a few milliseconds only.  libwse takes the shared
  # library: the code of an archive need not fit there.
  foreach(name z gmp jansson zstd)
    string(TOUPPER ${name} NAME)
    find_library(${NAME}_SHARED ${name} REQUIRED)
    find_library(${NAME}_ARCHIVE lib${name}.a)
    mark_as_advanced(${NAME}_SHARED ${NAME}_ARCHIVE)
    add_library(foreign_${name} INTERFACE)
    if(${NAME}_ARCHIVE)
      set(is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
      target_link_libraries(foreign_${name} INTERFACE
        $<IF:${is_program},${${NAME}_ARCHIVE},${${NAME}_SHARED}>)
    else()
      target_link_libraries(foreign_${name} INTERFACE ${${NAME}_SHARED})
    endif()
  endforeach()
  return()
endif()

set(WSE_SOURCES "${CMAKE_SOURCE_DIR}/build/sources" CACHE PATH "Sources of libraries, unpacked")
if(NOT EXISTS ${WSE_SOURCES}/gmp)
  message(FATAL_ERROR "no sources of libraries in ${WSE_SOURCES}: run playground/fetch_sources.sh")
endif()
# The folder of a header has the system's headers, too.
set(copied_headers ${CMAKE_BINARY_DIR}/headers)
file(COPY ${STB_FOUND_DIR}/stb_ds.h ${UTHASH_FOUND_DIR}/uthash.h DESTINATION ${copied_headers})
set(HEADER_DIRS ${copied_headers})

function(foreign_library name)        # sources; warnings are their authors' affair
  add_library(${name} STATIC ${ARGN})
  target_compile_options(${name} PRIVATE -w)
endfunction()

# mini-gmp comes with GMP and has the part of its interface that the front end uses.
configure_file(${WSE_SOURCES}/gmp/mini-gmp/mini-gmp.h ${copied_headers}/gmp.h COPYONLY)
foreign_library(foreign_gmp ${WSE_SOURCES}/gmp/mini-gmp/mini-gmp.c)
target_include_directories(foreign_gmp INTERFACE ${copied_headers})

file(GLOB sources ${WSE_SOURCES}/jansson/src/*.c)
foreign_library(foreign_jansson ${sources})
file(WRITE ${CMAKE_BINARY_DIR}/jansson/jansson_config.h "#ifndef JANSSON_CONFIG_H
#define JANSSON_CONFIG_H
#define JSON_INLINE inline
#define JSON_INTEGER_IS_LONG_LONG 1
#define JSON_HAVE_LOCALECONV 1
#define JSON_HAVE_ATOMIC_BUILTINS 1
#define JSON_HAVE_SYNC_BUILTINS 0
#define JSON_PARSER_MAX_DEPTH 2048
#endif
")
file(WRITE ${CMAKE_BINARY_DIR}/jansson/jansson_private_config.h "#define HAVE_STDINT_H 1
#define HAVE_LOCALE_H 1
#define HAVE_STRTOLL 1
#define INITIAL_HASHTABLE_ORDER 3
")
target_compile_definitions(foreign_jansson PRIVATE HAVE_CONFIG_H)
target_include_directories(foreign_jansson PUBLIC ${WSE_SOURCES}/jansson/src
  ${CMAKE_BINARY_DIR}/jansson)

set(zlib_parts adler32 compress crc32 deflate inffast inflate inftrees trees uncompr zutil)
list(TRANSFORM zlib_parts PREPEND ${WSE_SOURCES}/zlib/)
list(TRANSFORM zlib_parts APPEND .c)
foreign_library(foreign_z ${zlib_parts})
target_compile_definitions(foreign_z PRIVATE HAVE_UNISTD_H)
target_include_directories(foreign_z PUBLIC ${WSE_SOURCES}/zlib)

file(GLOB sources ${WSE_SOURCES}/libzstd/lib/common/*.c ${WSE_SOURCES}/libzstd/lib/compress/*.c)
foreign_library(foreign_zstd ${sources})
target_include_directories(foreign_zstd PUBLIC ${WSE_SOURCES}/libzstd/lib)
