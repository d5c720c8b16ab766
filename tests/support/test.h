/* SPDX-License-Identifier: Apache-2.0 */
/* test.h - cmocka with the headers it needs before it. */
#ifndef SUPPORT_TEST_H
#define SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
