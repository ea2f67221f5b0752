/* A libibverbs with devices that fail in different ways, for fake_test.go. The structs come from the
 * real header. OLD omits the functions that old versions don't have, BROKEN a function that all
 * versions have. NOSYS simulates a kernel without RDMA. DATAPATH adds what datapath.c has. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_query_port

static atomic_int hold, opened, closed, listed, freed;

/* Variables that the tests read and set. */
void fake_hold(int on) { hold = on; }
int fake_open_devices(void) { return opened - closed; }
int fake_open_lists(void) { return listed - freed; }

static void wait_while_held(void)
{
	while (hold)
		usleep(1000);
}

static const char *const names[] = { "good0", "old0", "hang0", "denied0", "gone0", "broken0", "noreason0", "hangopen0", "fallback0",
#ifdef DATAPATH
	"ib0",
#endif
};
#define COUNT (sizeof(names) / sizeof(names[0]))
static struct ibv_device devices[COUNT];

static int is(struct ibv_context *c, const char *name) { return !strcmp(c->device->name, name); }

struct ibv_device **ibv_get_device_list(int *num)
{
#ifdef NOSYS
	errno = ENOSYS;
	return NULL;
#endif
	struct ibv_device **list = calloc(COUNT + 1, sizeof(*list));

	for (size_t i = 0; i < COUNT; i++) {
		struct ibv_device *d = &devices[i];

		d->node_type = IBV_NODE_CA;
		d->transport_type = IBV_TRANSPORT_IB;
		strcpy(d->name, names[i]);
		sprintf(d->dev_name, "uverbs%zu", i);
		list[i] = d;
	}
	*num = COUNT;
	listed++;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	freed++;
	free(list);
}

__be64 ibv_get_device_guid(struct ibv_device *d)
{
	unsigned char guid[8] = { 2, 0, 0, 0, 0, 0, 0, d - devices };
	__be64 out;

	memcpy(&out, guid, 8);
	return out;
}

static void fill(struct ibv_device_attr *a)
{
	strcpy(a->fw_ver, "1.2.3");
	a->max_qp = 1000;
	a->phys_port_cnt = 2;
#ifdef DATAPATH
	a->max_qp_wr = a->max_cqe = a->max_srq_wr = 1024;
	a->max_sge = a->max_srq_sge = a->max_srq = 8;
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = 300;
	a->atomic_cap = IBV_ATOMIC_HCA;
	a->device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
#endif
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
	fill(a);
	return 0;
}

static int query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *a, size_t size)
{
	if (input || size != sizeof(*a))
		return EINVAL;
	if (is(c, "hang0"))
		wait_while_held();
	if (is(c, "broken0"))
		return EIO;
	if (is(c, "fallback0")) {
		a->max_dm_size = 666; /* must not be used */
		return EOPNOTSUPP;
	}
	fill(&a->orig_attr);
	a->hca_core_clock = 156250;
	a->phys_port_cnt_ex = 2;
	return 0;
}

/* The struct of the first versions: 52 bytes, without the 2 bytes that were added later. */
int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr *a = (void *)attr;

	if (is(c, "old0") && port == 2)
		return -EINVAL;
	a->state = IBV_PORT_DOWN;
	a->gid_tbl_len = 0;
	return 0;
}

static int query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *a, size_t size)
{
	if (size < sizeof(*a))
		return EINVAL;
	memset(a, 0, size);
	a->state = IBV_PORT_ACTIVE;
	a->gid_tbl_len = 6;
	a->link_layer = is(c, "ib0") ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
	a->port_cap_flags2 = 0x1234;
	return 0;
}

/* Port 1: indices 0, 1, 2 and 4 are filled, the type of 2 fails. Port 2: index 3 fails. */
int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (port == 2 && index == 3) {
		errno = EFAULT;
		return -1;
	}
	if (index != 3 && index != 5) {
		gid->raw[0] = 0xfe;
		gid->raw[15] = port * 16 + index;
	}
	return 0;
}

#ifndef OLD
int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	if (flags || size != sizeof(*entry))
		return EINVAL;
	if (index == 2)
		return EOPNOTSUPP;
	entry->gid_type = index == 4 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	entry->ndev_ifindex = 7;
	return 0;
}
#else
int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned int index, int *type)
{
	if (index == 2) {
		errno = EOPNOTSUPP;
		return -1;
	}
	*type = index == 4;
	return 0;
}
#endif

#ifdef DATAPATH
#include "datapath.c"
#else
static void fill_ops(struct verbs_context *v) {}
#endif

#ifndef BROKEN
struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	struct verbs_context *v;

	errno = 0;
	if (!strcmp(d->name, "denied0"))
		errno = EACCES;
	if (!strcmp(d->name, "gone0"))
		errno = ENOENT;
	if (errno || !strcmp(d->name, "noreason0"))
		return NULL;
	if (!strcmp(d->name, "hangopen0"))
		wait_while_held();
	v = calloc(1, sizeof(*v));
	v->sz = sizeof(*v);
	v->context.device = d;
	v->context.num_comp_vectors = 5;
	v->context.abi_compat = strcmp(d->name, "old0") ? __VERBS_ABI_IS_EXTENDED : NULL;
	v->query_device_ex = query_device_ex;
	v->query_port = query_port;
	fill_ops(v);
	opened++;
	return &v->context;
}
#endif

int ibv_close_device(struct ibv_context *c)
{
	struct verbs_context *v = (void *)((char *)c - offsetof(struct verbs_context, context));

	closed++;
	memset(v, 0xdd, sizeof(*v)); /* to detect use after close */
	free(v);
	return 0;
}
