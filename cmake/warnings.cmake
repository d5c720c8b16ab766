# SPDX-License-Identifier: Apache-2.0
# One interface target carries the flags every one of our targets compiles with.
add_library(project_flags INTERFACE)
target_compile_definitions(project_flags INTERFACE _GNU_SOURCE)
target_compile_options(project_flags INTERFACE
	-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wmissing-prototypes -Wstrict-prototypes
	-Wno-gnu-zero-variadic-macro-arguments -fno-omit-frame-pointer
	$<$<BOOL:${CANCEL_WERROR}>:-Werror>)
if(CANCEL_SANITIZE)
	target_compile_options(project_flags INTERFACE -fsanitize=${CANCEL_SANITIZE} -fno-sanitize-recover=all)
	target_link_options(project_flags INTERFACE -fsanitize=${CANCEL_SANITIZE})
	target_compile_definitions(project_flags INTERFACE CANCEL_SANITIZED=1)
endif()
if(CANCEL_COVERAGE)
	target_compile_options(project_flags INTERFACE --coverage)
	target_link_options(project_flags INTERFACE --coverage)
endif()
