/* SPDX-License-Identifier: MIT */
/* A failure as the annotation of a source line in a CI system. Used by btview. */
#ifndef BT_ANNOTATION_H
#define BT_ANNOTATION_H

#include "decoder/cause/headline.h"

/* Adds a workflow command of GitHub Actions and a newline:
 *   ::error file=src/config.c,line=10,title=SIGSEGV%3A null read::SIGSEGV: null read in port ...
 * folder: of the checkout, from which the file is named; a file outside has its whole path. No byte
 * of the trace can begin another command. */
void annotation_put_github(const struct headline *h, const char *folder, struct text *t);

#endif
