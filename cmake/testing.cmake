# SPDX-License-Identifier: Apache-2.0
# project_test(NAME label [SOURCES …] [LIBRARIES …] [TIMEOUT seconds]) adds one cmocka binary and its ctest entry.
# The source defaults to NAME.c in the calling folder. Labels: unit race model sim db wire fault fuzz tidy engines.
set(CANCEL_TEST_TIME_FACTOR 1 CACHE STRING "Time limits of tests are multiplied by it, for slow machines")
if(NOT CANCEL_TEST_TIME_FACTOR MATCHES "^[1-9][0-9]?[0-9]?$")
	message(FATAL_ERROR "CANCEL_TEST_TIME_FACTOR is '${CANCEL_TEST_TIME_FACTOR}', not a whole number from 1 to 999")
endif()

# A build for use, as of ./demo, needs no packages of the tests. ./check installs them, and fails when no test runs.
if(BUILD_TESTING)
	pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
	if(NOT CMOCKA_FOUND)
		message(NOTICE "The tests are not built, because cmocka is missing: cmake/setup.sh check installs it (libcmocka-dev).")
		set(BUILD_TESTING OFF)
	endif()
endif()

# limit_test(NAME label seconds) gives a ctest entry its label and its time limit. The test hears the factor, too, for
# what it waits for by itself (tests/support/patience.h).
function(limit_test name label seconds)
	math(EXPR limit "${seconds} * ${CANCEL_TEST_TIME_FACTOR}")
	set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${limit}
		ENVIRONMENT TEST_TIME_FACTOR=${CANCEL_TEST_TIME_FACTOR})
endfunction()

function(project_test name label)
	cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBRARIES;DEFINITIONS" ${ARGN})
	if(NOT arg_SOURCES)
		set(arg_SOURCES ${name}.c)
	endif()
	if(NOT arg_TIMEOUT)
		set(arg_TIMEOUT 60)
	endif()
	set(target test_${label}_${name})
	add_executable(${target} ${arg_SOURCES})
	target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests/support)
	target_compile_definitions(${target} PRIVATE ${arg_DEFINITIONS})
	target_link_libraries(${target} PRIVATE project_flags ${arg_LIBRARIES} PkgConfig::CMOCKA Threads::Threads)
	set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
	add_test(NAME ${label}.${name} COMMAND ${target})
	limit_test(${label}.${name} ${label} ${arg_TIMEOUT})
endfunction()
