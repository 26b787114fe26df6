/* SPDX-License-Identifier: MIT */
/* What the processor this runs on is good at. */
#ifndef BT_PROCESSOR_H
#define BT_PROCESSOR_H

#include <stdbool.h>

/* Whether it has PEXT (BMI2) in hardware. */
bool processor_has_fast_pext(void);

/* Whether it has LZCNT. */
bool processor_has_lzcnt(void);

#endif
