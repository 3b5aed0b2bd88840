// SPDX-License-Identifier: GPL-2.0
/* CUBIC whose K alone is scaled by the RTT, as Kozu et al. print it. */
#define CC_NAME "cubic_rttk"
#define CC_KIND CC_KIND_CUBIC_RTTK
#define CC_FORM CC_FORM_K
#include "cubic_whole.h"
