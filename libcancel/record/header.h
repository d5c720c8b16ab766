/* SPDX-License-Identifier: Apache-2.0 */
/*
 * header.h - the pieces of a file that are lines of text. Each call gives NULL, or what is wrong.
 */
#ifndef CANCEL_RECORD_HEADER_H
#define CANCEL_RECORD_HEADER_H

#include "libcancel/record/record.h"

const char *header_read_config(struct byte_reader *in, struct record_config *config);
const char *header_read_fields(struct byte_reader *in, struct record_layout *layout);
const char *header_read_names(struct byte_reader *in, struct record_names *names);

#endif
