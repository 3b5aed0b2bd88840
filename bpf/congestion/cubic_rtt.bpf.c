// SPDX-License-Identifier: GPL-2.0
/* CUBIC whose C is scaled by the RTT, in K and in the cubic. */
#define CC_NAME "cubic_rtt"
#define CC_KIND CC_KIND_CUBIC_RTT
#define CC_FORM CC_FORM_C
#include "cubic_whole.h"
