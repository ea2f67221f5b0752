/* A librdmacm that connects nothing, for cm_test.go: each call leads to the event that the kernel
 * would report, to another one that the test asks for, or to an error. The structs come from the
 * real header. BROKEN omits a function that old versions don't have. */
#define _GNU_SOURCE
#include <rdma/rdma_cma.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct channel {
	struct rdma_event_channel c;
	int pipe[2], alive;
};

struct id {
	struct rdma_cm_id id;
	int alive, unacked, connected;
	struct channel *channel;
};

struct event {
	struct rdma_cm_event e;
	char data[256];
	struct id *owner;
	struct event *next;
};

static struct event *queue; /* of all channels, the oldest first */
static atomic_int lock, channels, ids, events, misuse, hold, rejected, established, told, last_backlog, last_tos;
static struct ibv_device device = { .name = "good0" };
static struct ibv_context context = { .device = &device };
static struct rdma_conn_param last_param;
static char last_data[256];
static struct id *last_id;

/* Steps that fail with an errno, or lead to another event: argument step << 24 | event << 16 | the
 * lower 16 bits of its status. Event 255 is none. */
enum { CHANNEL, CREATE, BIND, LISTEN, ADDR, ROUTE, CONNECT, ACCEPT, ATTR, ESTABLISH, MIGRATE, FILE_DESCRIPTOR, STEPS };
static int fails[STEPS], leads[STEPS];
void fake_cm_fail(int arg) { fails[arg >> 8] = arg & 0xff; }
void fake_cm_event(int arg) { leads[arg >> 24] = (arg & 0xffffff) | 1 << 24; }
void fake_cm_reset(void) { memset(leads, 0, sizeof(leads)); }

int fake_cm_channels(void) { return channels; }
int fake_cm_ids(void) { return ids; }
int fake_cm_events(void) { return events; }
int fake_cm_misuse(void) { return misuse; }
int fake_cm_rejected(void) { return rejected; }
int fake_cm_established(void) { return established; }
int fake_cm_told(void) { return told; }
int fake_cm_backlog(void) { return last_backlog; }
int fake_cm_tos(void) { return last_tos; }
void fake_cm_hold(int on) { hold = on; }
void fake_cm_device(int other) { strcpy(device.name, other ? "old0" : "good0"); }
struct rdma_conn_param *fake_cm_param(void) { return &last_param; }
char *fake_cm_data(void) { return last_data; }

static void enter(void)
{
	while (atomic_exchange(&lock, 1))
		usleep(100);
}

static void leave(void) { lock = 0; }

static struct id *check(struct rdma_cm_id *id)
{
	struct id *x = (void *)id;

	if (!x->alive || !x->channel->alive)
		misuse++;
	return x;
}

static int failed(int step)
{
	if (!fails[step])
		return 0;
	errno = fails[step];
	return -1;
}

static void push(struct id *to, struct id *about, int kind, int status)
{
	struct event *e = calloc(1, sizeof(*e)), **end = &queue;

	e->owner = to;
	e->e.id = &about->id;
	e->e.event = kind;
	e->e.status = status;
	strcpy(e->data, "private data of the peer");
	if (to->id.ps == RDMA_PS_UDP) {
		e->e.param.ud.private_data = e->data;
		e->e.param.ud.private_data_len = 30;
		e->e.param.ud.qp_num = 0x123;
		e->e.param.ud.qkey = 0x1234567;
		e->e.param.ud.ah_attr.dlid = 7;
		e->e.param.ud.ah_attr.sl = 3;
		e->e.param.ud.ah_attr.port_num = 1;
	} else {
		e->e.param.conn.private_data = e->data;
		e->e.param.conn.private_data_len = 30;
		e->e.param.conn.responder_resources = 5;
		e->e.param.conn.initiator_depth = 2;
		e->e.param.conn.retry_count = 6;
		e->e.param.conn.rnr_retry_count = 1;
	}
	enter();
	while (*end)
		end = &(*end)->next;
	*end = e;
	leave();
	if (write(to->channel->pipe[1], "", 1) != 1)
		misuse++;
}

/* A step of an identifier: fails, or leads to an event, unless kind is -1. */
static int step(struct rdma_cm_id *id, int which, int kind)
{
	struct id *x = check(id);

	if (failed(which))
		return -1;
	if (leads[which]) {
		kind = leads[which] >> 16 & 0xff;
		if (kind != 255)
			push(x, x, kind, (int16_t)leads[which]);
	} else if (kind >= 0) {
		push(x, x, kind, 0);
	}
	return 0;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *c;

	if (failed(CHANNEL))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (pipe2(c->pipe, O_CLOEXEC))
		return NULL;
	c->c.fd = failed(FILE_DESCRIPTOR) ? -1 : c->pipe[0];
	c->alive = 1;
	channels++;
	return &c->c;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct channel *c = (void *)channel;

	misuse += !c->alive;
	c->alive = 0;
	channels--;
	close(c->pipe[0]);
	close(c->pipe[1]);
}

static struct id *make(struct rdma_event_channel *channel, int ps)
{
	struct id *x = calloc(1, sizeof(*x));

	x->alive = 1;
	x->channel = (void *)channel;
	x->id.channel = channel;
	x->id.ps = ps;
	x->id.port_num = 1;
	ids++;
	return last_id = x;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *ctx, enum rdma_port_space ps)
{
	if (failed(CREATE))
		return -1;
	*id = &make(channel, ps)->id;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct id *x = check(id);
	struct event **e = &queue;

	enter();
	while (*e)
		if ((*e)->owner == x) {
			if ((*e)->e.event == RDMA_CM_EVENT_CONNECT_REQUEST)
				ids--; /* the kernel rejects it */
			*e = (*e)->next;
		} else
			e = &(*e)->next;
	leave();
	if (x->unacked)
		misuse++;
	x->alive = 0;
	ids--;
	return 0;
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	struct id *x = check(id);

	if (failed(MIGRATE))
		return -1;
	x->channel = (void *)channel;
	x->id.channel = channel;
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	if (step(id, BIND, -1))
		return -1;
	memcpy(&id->route.addr.src_storage, addr, addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	if (!id->route.addr.src_sin.sin_port)
		id->route.addr.src_sin.sin_port = htons(4711);
	id->verbs = &context;
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	last_backlog = backlog;
	return step(id, LISTEN, -1);
}

/* A request arrives for the last identifier. */
void fake_cm_request(void)
{
	struct id *l = last_id, *x = make(&l->channel->c, l->id.ps);

	x->id.verbs = &context;
	x->id.route.addr.src_sin = l->id.route.addr.src_sin;
	x->id.route.addr.dst_sin.sin_family = AF_INET;
	x->id.route.addr.dst_sin.sin_port = htons(999);
	x->id.route.addr.dst_sin.sin_addr.s_addr = htonl(0xc0000209);
	last_id = l;
	push(l, x, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
}

/* An event arrives for the last identifier: argument event << 16 | status. */
void fake_cm_push(int arg) { push(last_id, last_id, arg >> 16, (int16_t)arg); }

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst, int ms)
{
	if (step(id, ADDR, RDMA_CM_EVENT_ADDR_RESOLVED))
		return -1;
	memcpy(&id->route.addr.dst_storage, dst, sizeof(struct sockaddr_in));
	id->route.addr.src_sin.sin_family = AF_INET;
	if (src)
		memcpy(&id->route.addr.src_storage, src, sizeof(struct sockaddr_in));
	id->verbs = &context;
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms) { return step(id, ROUTE, RDMA_CM_EVENT_ROUTE_RESOLVED); }

static void keep(struct rdma_conn_param *p)
{
	last_param = *p;
	memset(last_data, 0, sizeof(last_data));
	if (p->private_data_len)
		memcpy(last_data, p->private_data, p->private_data_len);
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *p)
{
	while (hold)
		usleep(1000);
	keep(p);
	return step(id, CONNECT, id->ps == RDMA_PS_UDP ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *p)
{
	keep(p);
	return step(id, ACCEPT, id->ps == RDMA_PS_UDP ? -1 : RDMA_CM_EVENT_ESTABLISHED);
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t n)
{
	check(id);
	rejected++;
	memcpy(last_data, data, n);
	return 0;
}

#ifndef BROKEN
int rdma_establish(struct rdma_cm_id *id)
{
	established++;
	return step(id, ESTABLISH, -1);
}
#endif

int rdma_disconnect(struct rdma_cm_id *id)
{
	struct id *x = check(id);

	told++;
	if (!x->connected++ && !hold)
		push(x, x, RDMA_CM_EVENT_DISCONNECTED, 0);
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct channel *c = (void *)channel;
	struct event **e = &queue, *found = NULL;
	char byte;

	misuse += !c->alive;
	if (read(c->pipe[0], &byte, 1) != 1)
		return -1;
	enter();
	while (*e && (*e)->owner->channel != c)
		e = &(*e)->next;
	if (*e) {
		found = *e;
		*e = found->next;
	}
	leave();
	if (!found) {
		errno = EAGAIN;
		return -1;
	}
	found->owner->unacked++;
	events++;
	*event = &found->e;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct event *e = (void *)event;

	e->owner->unacked--;
	events--;
	memset(e, 0xee, sizeof(*e)); /* so that a late use is noticed */
	free(e);
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t n)
{
	check(id);
	if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_TOS && n == 1)
		last_tos = *(uint8_t *)value;
	return 0;
}

/* What the kernel sets, with bits of its own (IB_QP_SMAC and others). */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	enum ibv_qp_state state = attr->qp_state;

	check(id);
	if (failed(ATTR))
		return -1;
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	attr->port_num = 1;
	attr->ah_attr.dlid = 7;
	attr->ah_attr.port_num = 1;
	attr->ah_attr.is_global = 1;
	attr->ah_attr.grh.dgid.raw[15] = 9;
	attr->path_mtu = IBV_MTU_1024;
	attr->dest_qp_num = 0x123;
	attr->rq_psn = 0x111;
	attr->sq_psn = 0x222;
	attr->max_dest_rd_atomic = attr->max_rd_atomic = 16;
	attr->timeout = 20;
	attr->retry_cnt = attr->rnr_retry = 7;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	*mask = IBV_QP_STATE | 0xf << 21;
	if (state == IBV_QPS_INIT)
		*mask |= IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (state == IBV_QPS_INIT && id->ps == RDMA_PS_UDP)
		*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	if (state == IBV_QPS_RTR)
		*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			 IBV_QP_MIN_RNR_TIMER;
	if (state == IBV_QPS_RTS)
		*mask |= IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return 0;
}
