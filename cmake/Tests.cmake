# What ctest runs. All of it is registered by the release preset, whose one ctest run closes everything; what it needs of the other
# presets is built by tests of their own (build.dev, build.tsan), which ctest runs first and, where it can, beside others.

# The gate runs everything that is not NIGHTLY: `ctest`. `ctest -C Nightly` has both.
#
# evenkeel_test(<name> [GATE|NIGHTLY] [LABEL label] [WEIGHT slots] [AFTER test] [TIMEOUT seconds] [COST seconds] [NEEDS fixture...] [SETS_UP fixture]
#               COMMAND program argument...)
# WEIGHT: how many of the six slots of `ctest -j 6` it takes. An end-to-end suite mostly waits and takes 1; what computes takes 2, or 3 with
# two threads, and gives way (`nice`) to those suites, which look at clocks. COST: about how long it takes; the longest begin first, so that none is left alone at the end.
function(evenkeel_test name)
  if(EVENKEEL_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(ARG "NIGHTLY;GATE" "LABEL;WEIGHT;TIMEOUT;COST;SETS_UP;AFTER" "NEEDS;COMMAND" ${ARGN})
  set(configurations)
  if(ARG_NIGHTLY)
    set(configurations CONFIGURATIONS Nightly)
  endif()
  if(NOT ARG_LABEL STREQUAL "e2e")
    list(PREPEND ARG_COMMAND nice -n 10)
  endif()
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/measured ${ARG_COMMAND} ${configurations} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # 77 is a test that says that it cannot run here, and why. Properties are tried on the same random inputs each time.
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "RC_PARAMS=seed=1;EVENKEEL=${PROJECT_SOURCE_DIR}/build/release/evenkeel")
  foreach(pair LABEL:LABELS WEIGHT:PROCESSORS TIMEOUT:TIMEOUT COST:COST NEEDS:FIXTURES_REQUIRED SETS_UP:FIXTURES_SETUP AFTER:DEPENDS)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 argument)
    list(GET pair 1 property)
    if(DEFINED ARG_${argument})
      set_tests_properties(${name} PROPERTIES ${property} "${ARG_${argument}}")
    endif()
  endforeach()
endfunction()

# evenkeel_build(<name> <fixture> GATE|NIGHTLY <preset> <target>...): one build after the other, since each has a compiler for every core.
function(evenkeel_build name fixture when preset)
  evenkeel_test(${name} ${when} LABEL build WEIGHT 3 TIMEOUT 3600 COST 9000 SETS_UP ${fixture} AFTER "${previous_build}"
                COMMAND ${PROJECT_SOURCE_DIR}/tools/build ${preset} ${ARGN})
  set(previous_build ${name} PARENT_SCOPE)
endfunction()

set(previous_build "")
evenkeel_build(build.dev dev GATE dev unit_tests fuzzers)
evenkeel_build(build.tsan tsan GATE tsan thread_tests)
evenkeel_build(build.tsan.all tsan_all NIGHTLY tsan thread_tests nightly_thread_tests)
evenkeel_build(build.ubsan ubsan NIGHTLY ubsan unit_tests)
