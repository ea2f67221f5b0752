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
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "card.h"

static netdev_tx_t card_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops card_netdev_ops = {
	.ndo_start_xmit = card_xmit,
	.ndo_set_mac_address = eth_mac_addr,
};

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

	card_remove_ib(card);
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
