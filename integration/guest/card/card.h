/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RDMAKIT_CARD_H
#define RDMAKIT_CARD_H

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <net/dcbnl.h>
#include <net/devlink.h>
#include <rdma/ib_verbs.h>

struct card;

struct card_ib {
	struct ib_device dev;
	struct card *card;
};

struct card {
	struct net_device *netdev;
	struct card_ib *ib;
	struct devlink *devlink;
	struct devlink_health_reporter *reporter;
	struct ethtool_pauseparam pause;
	struct ethtool_fecparam fec;
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	struct dcbnl_buffer buffer;
	u8 dcbx;
};

extern const struct dcbnl_rtnl_ops card_dcb_ops;
extern const struct ethtool_ops card_ethtool_ops;

void card_init_dcb(struct card *card);
int card_add_ib(struct card *card, struct device *parent);
void card_remove_ib(struct card *card);

#endif
