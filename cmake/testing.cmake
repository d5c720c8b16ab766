# SPDX-License-Identifier: Apache-2.0
# project_test(NAME label [SOURCES …] [LIBRARIES …] [TIMEOUT seconds]) adds one cmocka binary and its ctest entry.
# The source defaults to NAME.c in the calling folder. Labels: unit race sim db wire fuzz tidy.
if(BUILD_TESTING)
	pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

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
	set_tests_properties(${label}.${name} PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT})
endfunction()
