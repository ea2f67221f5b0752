// SPDX-License-Identifier: GPL-2.0
/* The RDMA device: attributes only. */
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>

#include "card.h"

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

int card_add_ib(struct card *card, struct device *parent)
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

void card_remove_ib(struct card *card)
{
	ib_unregister_device(&card->ib->dev);
	ib_dealloc_device(&card->ib->dev);
}
