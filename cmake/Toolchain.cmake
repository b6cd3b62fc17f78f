# Compiler flags, sanitizers, and the helpers that shorten builds where they are installed.

find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers need the first two of these sloppinesses, or every lookup is a miss, and the others, or none is kept that was
  # compiled just after its list had been written. The base directory lets checkouts share what was compiled. The compiler itself lists
  # what a file includes (depend mode), so that nothing is preprocessed a second time. A precompiled header names places; cmake/precompile
  # writes beside it what it was made of, which is what counts.
  set(sloppiness pch_defines,time_macros,include_file_mtime,include_file_ctime)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=${sloppiness} CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                            CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1 ${CCACHE})
  endforeach()
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Leaves out libraries of which a program uses nothing itself: the image holds exactly those that it names (Dockerfile).
add_link_options(-Wl,--as-needed)

# Paths in messages and in debug information begin at the checkout.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
# clang reports what the standard library's own std::stable_sort calls.
add_compile_options(-Wno-deprecated-declarations)
# A precompiled header brings its templates' instances along. That it names no times lets ccache know it again.
set(CMAKE_PCH_INSTANTIATE_TEMPLATES ON)
add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
# Users' programs carry no debug information: nobody reads it there, and it costs a tenth of the build.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
# Tests take less time than to compile them optimised.
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(EVENKEEL_SANITIZE)
  add_compile_options(-fsanitize=${EVENKEEL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${EVENKEEL_SANITIZE})
endif()
if(EVENKEEL_FUZZ)
  # Checks of every pointer's use double what is compiled, and nearly all that they find AddressSanitizer finds, too. The preset ubsan
  # has them.
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize=null,alignment,object-size,vptr)
endif()
# Of tests: fuzzers look for ways through the code under test, not for ways through tests, and GoogleTest itself says in which line one fails.
set(EVENKEEL_TEST_OPTIONS -g0)
if(EVENKEEL_FUZZ)
  list(APPEND EVENKEEL_TEST_OPTIONS -fno-sanitize=fuzzer-no-link)
endif()
if(EVENKEEL_SANITIZE MATCHES "thread")
  # ThreadSanitizer does not understand fences; Asio's are in addition to the mutexes that it does see.
  add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
