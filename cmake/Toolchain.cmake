# Compiler flags, sanitizers, and the helpers that shorten builds where they are installed.

find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers need the first two of these sloppinesses, or every lookup is a miss, and the others, or none is kept that was
  # compiled just after its list had been written. The base directory lets checkouts share what was compiled.
  set(CCACHE_SLOPPINESS pch_defines,time_macros,include_file_mtime,include_file_ctime)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS} CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
                                  CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Paths in messages begin at the checkout.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these wrongly inside the standard library and Boost once it inlines; -fpch-preprocess is for ccache.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
                      -Wno-free-nonheap-object -Wno-dangling-pointer -fpch-preprocess)
  if(CMAKE_UNITY_BUILD)
    # It takes every .cc file of a batch for a header, where a member of an unnamed namespace's type would be a mistake.
    add_compile_options(-Wno-subobject-linkage)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # clang reports what g++ 12's own std::stable_sort calls.
  add_compile_options(-Wno-deprecated-declarations)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(EVENKEEL_SANITIZE)
  add_compile_options(-fsanitize=${EVENKEEL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${EVENKEEL_SANITIZE})
endif()
if(EVENKEEL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()
if(EVENKEEL_SANITIZE MATCHES "thread")
  # ThreadSanitizer does not understand fences; Asio's are in addition to the mutexes that it does see.
  add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
