// SPDX-License-Identifier: GPL-2.0
/* Settings and statistics of ethtool. */
#include "card.h"

static const char card_stat_names[][ETH_GSTRING_LEN] = {
	"rx_prio3_pause", "rx_discards_phy", "tx_prio3_pause",
};

static int card_get_ksettings(struct net_device *dev, struct ethtool_link_ksettings *cmd)
{
	cmd->base.speed = SPEED_100000;
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.port = PORT_FIBRE;
	cmd->base.autoneg = AUTONEG_DISABLE;
	cmd->lanes = 4;
	ethtool_link_ksettings_add_link_mode(cmd, supported, 100000baseSR4_Full);
	ethtool_link_ksettings_add_link_mode(cmd, advertising, 100000baseSR4_Full);
	return 0;
}

static void card_get_pause(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct card *card = netdev_priv(dev);

	pause->rx_pause = card->pause.rx_pause;
	pause->tx_pause = card->pause.tx_pause;
}

static int card_set_pause(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct card *card = netdev_priv(dev);

	card->pause = *pause;
	return 0;
}

static int card_get_fec(struct net_device *dev, struct ethtool_fecparam *fec)
{
	struct card *card = netdev_priv(dev);

	fec->fec = card->fec.fec;
	fec->active_fec = card->fec.active_fec;
	return 0;
}

static int card_set_fec(struct net_device *dev, struct ethtool_fecparam *fec)
{
	struct card *card = netdev_priv(dev);

	card->fec.fec = fec->fec;
	card->fec.active_fec = 1 << (fls(fec->fec) - 1);
	return 0;
}

static void card_get_ring(struct net_device *dev, struct ethtool_ringparam *ring,
			  struct kernel_ethtool_ringparam *kernel_ring,
			  struct netlink_ext_ack *extack)
{
	ring->rx_max_pending = 8192;
	ring->rx_pending = 1024;
	ring->tx_max_pending = 4096;
	ring->tx_pending = 512;
}

static int card_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? ARRAY_SIZE(card_stat_names) : -EOPNOTSUPP;
}

static void card_get_strings(struct net_device *dev, u32 set, u8 *data)
{
	if (set == ETH_SS_STATS)
		memcpy(data, card_stat_names, sizeof(card_stat_names));
}

static void card_get_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	data[0] = 3;
	data[1] = 1ULL << 40;
	data[2] = 5;
}

const struct ethtool_ops card_ethtool_ops = {
	.cap_link_lanes_supported = true,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = card_get_ksettings,
	.get_pauseparam = card_get_pause,
	.set_pauseparam = card_set_pause,
	.get_fecparam = card_get_fec,
	.set_fecparam = card_set_fec,
	.get_ringparam = card_get_ring,
	.get_sset_count = card_sset_count,
	.get_strings = card_get_strings,
	.get_ethtool_stats = card_get_stats,
};
