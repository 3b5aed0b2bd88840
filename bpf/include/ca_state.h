/* SPDX-License-Identifier: GPL-2.0 */
/* States of congestion control: include/uapi/linux/tcp.h, enum tcp_ca_state. */
#ifndef AIRTIDE_CA_STATE_H
#define AIRTIDE_CA_STATE_H

enum {
	TCP_CA_Open,
	TCP_CA_Disorder,
	TCP_CA_CWR,
	TCP_CA_Recovery,
	TCP_CA_Loss,
};

#endif
