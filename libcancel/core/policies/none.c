/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody: for a look at the verdicts alone. */
#include "libcancel/core/choose.h"

int policy_none(const struct cancel_choice *choice)
{
	(void)choice;
	return -1;
}
