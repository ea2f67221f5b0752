// SPDX-License-Identifier: GPL-2.0
/* Data center bridging. */
#include "card.h"

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

const struct dcbnl_rtnl_ops card_dcb_ops = {
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
void card_init_dcb(struct card *card)
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
