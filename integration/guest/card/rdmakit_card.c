// SPDX-License-Identifier: GPL-2.0
/*
 * An RDMA card without a data path, for tests of what rdmactl asks the kernel.
 *
 * The driver takes the PCI function of QEMU's e1000e, which is behind a root port, and registers
 * for it an RDMA device of RoCE, a network device with DCB and with settings of ethtool, and a
 * health reporter of devlink. The programs dcb, ethtool and devlink set what the driver then
 * reports. It sends and receives nothing.
 *
 * Writing to the attribute "fault" of the PCI function makes the health reporter report an error,
 * from which only the user recovers it.
 */
#include <linux/dcbnl.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <net/addrconf.h>
#include <net/dcbnl.h>
#include <net/devlink.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
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

/* Data center bridging. */

static int card_getets(struct net_device *dev, struct ieee_ets *ets)
{
	struct card *card = netdev_priv(dev);

	*ets = card->ets;
	return 0;
}

static int card_setets(struct net_device *dev, struct ieee_ets *ets)
{
	struct card *card = netdev_priv(dev);
	u8 classes = card->ets.ets_cap;

	card->ets = *ets;
	card->ets.ets_cap = classes;
	return 0;
}

static int card_getpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct card *card = netdev_priv(dev);

	*pfc = card->pfc;
	return 0;
}

static int card_setpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct card *card = netdev_priv(dev);

	card->pfc.pfc_en = pfc->pfc_en;
	card->pfc.mbc = pfc->mbc;
	card->pfc.delay = pfc->delay;
	return 0;
}

static int card_getbuffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct card *card = netdev_priv(dev);

	*buffer = card->buffer;
	return 0;
}

static int card_setbuffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct card *card = netdev_priv(dev);
	u32 total = card->buffer.total_size;

	card->buffer = *buffer;
	card->buffer.total_size = total;
	return 0;
}

static u8 card_getdcbx(struct net_device *dev)
{
	struct card *card = netdev_priv(dev);

	return card->dcbx;
}

static u8 card_setdcbx(struct net_device *dev, u8 mode)
{
	struct card *card = netdev_priv(dev);

	card->dcbx = mode;
	return 0;
}

/* The peer has classes and priorities in the opposite order, and PFC on priority 3. */
static int card_peer_getets(struct net_device *dev, struct ieee_ets *ets)
{
	struct card *card = netdev_priv(dev);
	int i;

	*ets = card->ets;
	ets->willing = !ets->willing;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		ets->prio_tc[i] = card->ets.prio_tc[7 - i];
		ets->tc_tx_bw[i] = card->ets.tc_tx_bw[7 - i];
		ets->tc_tsa[i] = card->ets.tc_tsa[7 - i];
	}
	return 0;
}

static int card_peer_getpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct card *card = netdev_priv(dev);

	memset(pfc, 0, sizeof(*pfc));
	pfc->pfc_cap = card->pfc.pfc_cap;
	pfc->pfc_en = 1 << 3;
	return 0;
}

static int card_peer_getappinfo(struct net_device *dev, struct dcb_peer_app_info *info, u16 *count)
{
	memset(info, 0, sizeof(*info));
	*count = 1;
	return 0;
}

/* RoCE v2 (UDP port 4791) in priority 5. */
static int card_peer_getapptable(struct net_device *dev, struct dcb_app *table)
{
	table[0].selector = IEEE_8021QAZ_APP_SEL_DGRAM;
	table[0].priority = 5;
	table[0].protocol = 4791;
	return 0;
}

static const struct dcbnl_rtnl_ops card_dcb_ops = {
	.ieee_getets = card_getets,
	.ieee_setets = card_setets,
	.ieee_getpfc = card_getpfc,
	.ieee_setpfc = card_setpfc,
	.ieee_peer_getets = card_peer_getets,
	.ieee_peer_getpfc = card_peer_getpfc,
	.peer_getappinfo = card_peer_getappinfo,
	.peer_getapptable = card_peer_getapptable,
	.dcbnl_getbuffer = card_getbuffer,
	.dcbnl_setbuffer = card_setbuffer,
	.getdcbx = card_getdcbx,
	.setdcbx = card_setdcbx,
};

/* Values from which a decoder that mixes up fields or indices is apparent. */
static void card_init_dcb(struct card *card)
{
	int i;

	card->dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
	card->ets.ets_cap = 8;
	card->pfc.pfc_cap = 8;
	card->pfc.delay = 777;
	card->buffer.total_size = 262016;
	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		card->ets.prio_tc[i] = i;
		card->pfc.requests[i] = 1000ULL * i + 1;
		card->pfc.indications[i] = (1ULL << 40) + i;
		card->buffer.buffer_size[i] = 1024 * (i + 1);
	}
}

/* Settings and statistics of ethtool. */

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

static const struct ethtool_ops card_ethtool_ops = {
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

static netdev_tx_t card_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops card_netdev_ops = {
	.ndo_start_xmit = card_xmit,
	.ndo_set_mac_address = eth_mac_addr,
};

/* The RDMA device: attributes only. */

struct card_ucontext {
	struct ib_ucontext context;
};

static int card_query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
	attr->sys_image_guid = ib->node_guid;
	attr->vendor_id = 0x8086;
	attr->max_pkeys = 1;
	return 0;
}

static int card_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	struct net_device *netdev = container_of(ib, struct card_ib, dev)->card->netdev;
	bool up = netif_running(netdev) && netif_carrier_ok(netdev);

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = iboe_get_mtu(netdev->mtu);
	attr->gid_tbl_len = 16;
	attr->pkey_tbl_len = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

static int card_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static int card_add_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static int card_del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static enum rdma_link_layer card_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int card_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->gid_tbl_len = 16;
	immutable->pkey_tbl_len = 1;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

/* With contexts there is a device file of uverbs. */
static int card_alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata)
{
	return 0;
}

static void card_dealloc_ucontext(struct ib_ucontext *context)
{
}

static const struct ib_device_ops card_ib_ops = {
	.owner = THIS_MODULE,
	.uverbs_abi_ver = 1,
	.add_gid = card_add_gid,
	.alloc_ucontext = card_alloc_ucontext,
	.dealloc_ucontext = card_dealloc_ucontext,
	.del_gid = card_del_gid,
	.get_link_layer = card_link_layer,
	.get_port_immutable = card_port_immutable,
	.query_device = card_query_device,
	.query_pkey = card_query_pkey,
	.query_port = card_query_port,
	INIT_RDMA_OBJ_SIZE(ib_ucontext, card_ucontext, context),
};

static int card_add_ib(struct card *card, struct device *parent)
{
	int err;

	card->ib = ib_alloc_device(card_ib, dev);
	if (!card->ib)
		return -ENOMEM;
	card->ib->card = card;
	card->ib->dev.node_type = RDMA_NODE_IB_CA;
	card->ib->dev.phys_port_cnt = 1;
	card->ib->dev.dev.parent = parent;
	addrconf_addr_eui48((unsigned char *)&card->ib->dev.node_guid, card->netdev->dev_addr);
	ib_set_device_ops(&card->ib->dev, &card_ib_ops);
	err = ib_device_set_netdev(&card->ib->dev, card->netdev, 1);
	if (!err)
		err = ib_register_device(&card->ib->dev, "card_%d", NULL);
	if (err)
		ib_dealloc_device(&card->ib->dev);
	return err;
}

/* The health reporter. */

static int card_recover(struct devlink_health_reporter *reporter, void *context,
			struct netlink_ext_ack *extack)
{
	return context ? -EIO : 0; /* the user's request has no context */
}

static const struct devlink_health_reporter_ops card_reporter_ops = {
	.name = "card",
	.recover = card_recover,
};

static const struct devlink_ops card_devlink_ops = {};

static ssize_t fault_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct card *card = dev_get_drvdata(dev);

	devlink_health_report(card->reporter, "a fault that a test made", card);
	return count;
}
static DEVICE_ATTR_WO(fault);

static struct attribute *card_attrs[] = {
	&dev_attr_fault.attr,
	NULL,
};
ATTRIBUTE_GROUPS(card);

static int card_add_devlink(struct card *card, struct device *parent)
{
	card->devlink = devlink_alloc(&card_devlink_ops, 0, parent);
	if (!card->devlink)
		return -ENOMEM;
	card->reporter = devlink_health_reporter_create(card->devlink, &card_reporter_ops, 0, card);
	if (IS_ERR(card->reporter)) {
		devlink_free(card->devlink);
		return PTR_ERR(card->reporter);
	}
	devlink_register(card->devlink);
	return 0;
}

static void card_remove_devlink(struct card *card)
{
	devlink_unregister(card->devlink);
	devlink_health_reporter_destroy(card->reporter);
	devlink_free(card->devlink);
}

static int card_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct net_device *netdev;
	struct card *card;
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	netdev = alloc_netdev(sizeof(*card), "card%d", NET_NAME_ENUM, ether_setup);
	if (!netdev)
		return -ENOMEM;
	card = netdev_priv(netdev);
	card->netdev = netdev;
	card->fec.fec = ETHTOOL_FEC_RS;
	card->fec.active_fec = ETHTOOL_FEC_RS;
	card_init_dcb(card);
	pci_set_drvdata(pdev, card);
	SET_NETDEV_DEV(netdev, &pdev->dev);
	eth_hw_addr_random(netdev);
	netdev->netdev_ops = &card_netdev_ops;
	netdev->ethtool_ops = &card_ethtool_ops;
	netdev->dcbnl_ops = &card_dcb_ops;
	netdev->max_mtu = 9216;

	err = card_add_devlink(card, &pdev->dev);
	if (err)
		goto free_netdev;
	err = register_netdev(netdev);
	if (err)
		goto remove_devlink;
	err = card_add_ib(card, &pdev->dev);
	if (err)
		goto remove_netdev;
	return 0;

remove_netdev:
	unregister_netdev(netdev);
remove_devlink:
	card_remove_devlink(card);
free_netdev:
	free_netdev(netdev);
	return err;
}

static void card_remove(struct pci_dev *pdev)
{
	struct card *card = pci_get_drvdata(pdev);

	ib_unregister_device(&card->ib->dev);
	ib_dealloc_device(&card->ib->dev);
	unregister_netdev(card->netdev);
	card_remove_devlink(card);
	free_netdev(card->netdev);
}

/* Without MODULE_DEVICE_TABLE: only tests load the driver. */
static const struct pci_device_id card_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x10d3) },
	{ }
};

static struct pci_driver card_driver = {
	.name = "rdmakit_card",
	.id_table = card_ids,
	.probe = card_probe,
	.remove = card_remove,
	.dev_groups = card_groups,
};
module_pci_driver(card_driver);

MODULE_DESCRIPTION("RDMA card without a data path, for tests");
MODULE_LICENSE("GPL");
