# What ctest runs. All of it is registered by the release preset, whose one ctest run closes everything; what it needs of the other
# presets is built by tests of their own (build.dev, build.tsan), which ctest runs first and, where it can, beside others.

# The gate runs everything that is not NIGHTLY: `ctest`. `ctest -C Nightly` has both.
#
# Some tests compute, others, those end to end, mostly wait. Each that computes takes CORES of cores.json (1 where nothing is said) and as
# many slots of tools/ctest, begins before all that wait, and gives way (`nice`) to them, which look at clocks: so the cores always have
# something to do, with nobody waiting for them but who can. cores.json has two more than the machine, since those of threads and of files
# wait, too. What waits takes WEIGHT slots: 1, or 2 where it takes more than a third of a core.
#
# evenkeel_test(<name> [GATE|NIGHTLY] [LABEL label] [WEIGHT slots] [CORES cores] [AFTER test] [TIMEOUT seconds] [COST seconds] [NEEDS fixture...]
#               [SETS_UP fixture] COMMAND program argument...)
# COST: about how long it takes; the longest begin first, so that none is left alone at the end.
function(evenkeel_test name)
  if(EVENKEEL_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(ARG "NIGHTLY;GATE" "LABEL;WEIGHT;CORES;TIMEOUT;COST;SETS_UP;AFTER" "NEEDS;COMMAND" ${ARGN})
  set(configurations)
  if(ARG_NIGHTLY)
    set(configurations CONFIGURATIONS Nightly)
  endif()
  if(NOT ARG_LABEL STREQUAL "e2e")
    list(PREPEND ARG_COMMAND nice -n 10)
    if(NOT ARG_CORES)
      set(ARG_CORES 1)
    endif()
    if(NOT ARG_COST)
      set(ARG_COST 0)
    endif()
    set(ARG_WEIGHT ${ARG_CORES})
    set(ARG_CORES cores:${ARG_CORES})
    math(EXPR ARG_COST "1000 + ${ARG_COST}")
  endif()
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/measured ${ARG_COMMAND} ${configurations} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # 77 is a test that says that it cannot run here, and why. Properties are tried on the same random inputs each time.
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "RC_PARAMS=seed=1;EVENKEEL=${PROJECT_SOURCE_DIR}/build/release/evenkeel")
  if(ARG_LABEL STREQUAL "sim")
    # A simulation is one of many small objects: a seventh less time where a thread keeps more of them than the seven of each size that is usual.
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT GLIBC_TUNABLES=glibc.malloc.tcache_count=20000)
  endif()
  foreach(pair LABEL:LABELS WEIGHT:PROCESSORS CORES:RESOURCE_GROUPS TIMEOUT:TIMEOUT COST:COST NEEDS:FIXTURES_REQUIRED SETS_UP:FIXTURES_SETUP AFTER:DEPENDS)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 argument)
    list(GET pair 1 property)
    if(DEFINED ARG_${argument})
      set_tests_properties(${name} PROPERTIES ${property} "${ARG_${argument}}")
    endif()
  endforeach()
endfunction()

if(NOT EVENKEEL_SANITIZE)
  execute_process(COMMAND nproc OUTPUT_VARIABLE cores OUTPUT_STRIP_TRAILING_WHITESPACE)
  math(EXPR cores "${cores} + 2")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/cores.json
       CONTENT [[{"version": {"major": 1, "minor": 0}, "local": [{"cores": [{"id": "0", "slots": @cores@}]}]}]] @ONLY)
endif()

# evenkeel_build(<name> <fixture> GATE|NIGHTLY <preset> <target>...): one build after the other, since each has a compiler for every core.
function(evenkeel_build name fixture when preset)
  evenkeel_test(${name} ${when} LABEL build CORES 2 TIMEOUT 3600 COST 9000 SETS_UP ${fixture} AFTER "${previous_build}"
                COMMAND ${PROJECT_SOURCE_DIR}/tools/build ${preset} ${ARGN})
  set(previous_build ${name} PARENT_SCOPE)
endfunction()

set(previous_build "")
evenkeel_build(build.dev dev GATE dev unit_tests fuzzers)
evenkeel_build(build.tsan tsan GATE tsan thread_tests)
evenkeel_build(build.tsan.all tsan_all NIGHTLY tsan thread_tests nightly_thread_tests)
evenkeel_build(build.ubsan ubsan NIGHTLY ubsan unit_tests)
