/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - one server for the tests of a binary: started before them, stopped and removed after. */
#ifndef TESTS_SERVER_FIXTURE_H
#define TESTS_SERVER_FIXTURE_H

#include "wire_client.h"

static struct wire_server server;

static int start(void **state)
{
	(void)state;
	wire_server_start(&server, NULL);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	int status = wire_server_stop(&server);
	wire_server_clean(&server);
	return status;
}

#endif
