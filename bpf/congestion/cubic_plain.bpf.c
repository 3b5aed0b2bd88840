// SPDX-License-Identifier: GPL-2.0
/* CUBIC as the kernel has it: what the others are compared with. */
#define CC_NAME "cubic_plain"
#define CC_KIND CC_KIND_CUBIC_PLAIN
#define CC_FORM CC_FORM_PLAIN
#include "cubic_whole.h"
