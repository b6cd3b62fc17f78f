# What ctest runs. All of it is registered by the release preset, whose one ctest run closes everything; what it needs of the other
# presets is built by tests of their own (build.dev, build.tsan), which ctest runs first and, where it can, beside others.

# The gate runs everything that is not NIGHTLY: `ctest`. `ctest -C Nightly` has both.
#
# evenkeel_test(<name> [GATE|NIGHTLY] [LABEL label] [WEIGHT halves] [TIMEOUT seconds] [COST seconds] [NEEDS fixture...] [SETS_UP fixture]
#               COMMAND program argument...)
# WEIGHT: how many halves of a core it keeps busy, 1 to 4; `ctest -j 4` fills two cores. COST: about how long it takes; the longest begin
# first, so that none is left alone at the end.
function(evenkeel_test name)
  if(EVENKEEL_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(ARG "NIGHTLY;GATE" "LABEL;WEIGHT;TIMEOUT;COST;SETS_UP" "NEEDS;COMMAND" ${ARGN})
  set(configurations)
  if(ARG_NIGHTLY)
    set(configurations CONFIGURATIONS Nightly)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} ${configurations} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # 77 is a test that says that it cannot run here, and why. Properties are tried on the same random inputs each time.
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "RC_PARAMS=seed=1;EVENKEEL=${PROJECT_SOURCE_DIR}/build/release/evenkeel")
  foreach(pair LABEL:LABELS WEIGHT:PROCESSORS TIMEOUT:TIMEOUT COST:COST NEEDS:FIXTURES_REQUIRED SETS_UP:FIXTURES_SETUP)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 argument)
    list(GET pair 1 property)
    if(DEFINED ARG_${argument})
      set_tests_properties(${name} PROPERTIES ${property} "${ARG_${argument}}")
    endif()
  endforeach()
endfunction()

evenkeel_test(build.dev LABEL build WEIGHT 4 TIMEOUT 3600 COST 9000 SETS_UP dev COMMAND ${PROJECT_SOURCE_DIR}/tools/build dev unit_tests fuzzers)
evenkeel_test(build.tsan LABEL build WEIGHT 4 TIMEOUT 3600 COST 8000 SETS_UP tsan COMMAND ${PROJECT_SOURCE_DIR}/tools/build tsan thread_tests)
evenkeel_test(build.tsan.all NIGHTLY LABEL build WEIGHT 4 TIMEOUT 3600 COST 8000 SETS_UP tsan_all
              COMMAND ${PROJECT_SOURCE_DIR}/tools/build tsan thread_tests nightly_thread_tests)
evenkeel_test(build.ubsan NIGHTLY LABEL build WEIGHT 4 TIMEOUT 3600 COST 8000 SETS_UP ubsan COMMAND ${PROJECT_SOURCE_DIR}/tools/build ubsan unit_tests)
