/* SPDX-License-Identifier: MIT */
/* Shared by the source files of address spaces alone: how a space stops sharing code with the
 * spaces that a fork made of it. */
#ifndef BT_ADDRESS_SPACE_PRIVATE_H
#define BT_ADDRESS_SPACE_PRIVATE_H

#include "collector/space/address_space.h"

/* The space's code is about to differ from that of the spaces with which it shares its pages: gives
 * it a table of its own, and tells extensions. Without memory these are not told, and the table is
 * begun anew. */
void address_space_part(struct address_space *s);

#endif
