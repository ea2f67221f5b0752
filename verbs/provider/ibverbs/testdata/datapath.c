/* The data path of the stand-in library, part of fake.c with DATAPATH: it records what it gets,
 * completes each request when it is posted, and fails on demand. Objects are never freed, so that a
 * call with one that was destroyed can be counted. */
#include <fcntl.h>

enum { PD, MR, CQ, QP, AH, SRQ, MW, CHANNEL, KINDS };

struct object {
	int kind, alive;
	union {
		struct ibv_pd pd;
		struct ibv_mr mr;
		struct ibv_cq cq;
		struct ibv_qp qp;
		struct ibv_ah ah;
		struct ibv_srq srq;
		struct ibv_mw mw;
		struct ibv_comp_channel channel;
	} u;
	struct ibv_wc *wcs; /* of a queue: completions that were not polled */
	int count, armed, pipe[2], unacked, sig_all;
};

static atomic_int live[KINDS], misuse, created;
static struct ibv_ah_attr last_ah;
static struct ibv_qp_attr last_attr;
static atomic_int last_mask, last_access, last_chain, last_limit;
static struct ibv_send_wr last_wr;
static struct ibv_sge last_sge;
static char last_data[256];
static struct object *last_qp, *last_cq, *last_srq;
static uint32_t srq_size;
static int async_pipe[2];

/* fake_fail makes the calls of one kind return an errno: argument kind << 8 | errno. */
enum { FAIL_CREATE, FAIL_DESTROY, FAIL_MODIFY, FAIL_POST, FAIL_POLL, FAIL_STATUS, FAILS };
static atomic_int fails[FAILS];
void fake_fail(int arg) { fails[arg >> 8] = arg & 0xff; }

int fake_live(int kind) { return live[kind]; }
int fake_misuse(void) { return misuse; }
int fake_last_mask(void) { return last_mask; }
int fake_last_access(void) { return last_access; }
int fake_last_chain(void) { return last_chain; }
int fake_last_limit(void) { return last_limit; }
struct ibv_ah_attr *fake_last_ah(void) { return &last_ah; }
struct ibv_qp_attr *fake_last_attr(void) { return &last_attr; }
struct ibv_send_wr *fake_last_wr(void) { return &last_wr; }
struct ibv_sge *fake_last_sge(void) { return &last_sge; }
char *fake_last_data(void) { return last_data; }

static struct object *object_of(void *p, int kind)
{
	struct object *o = (void *)((char *)p - offsetof(struct object, u));

	if (o->kind != kind || !o->alive)
		misuse++;
	return o;
}

static struct object *make(int kind)
{
	struct object *o;

	if (fails[FAIL_CREATE]) {
		errno = fails[FAIL_CREATE];
		return NULL;
	}
	o = calloc(1, sizeof(*o));
	o->kind = kind;
	o->alive = 1;
	live[kind]++;
	created++;
	return o;
}

static int destroy(void *p, int kind)
{
	struct object *o = object_of(p, kind);

	if (fails[FAIL_DESTROY])
		return fails[FAIL_DESTROY];
	if (o->unacked)
		misuse++;
	o->alive = 0;
	live[kind]--;
	return 0;
}

#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#define MAKE(o, kind)                         \
	struct object *o = make(kind);        \
	if (!o)                               \
		return NULL;

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c) { MAKE(o, PD) o->u.pd.context = c; return &o->u.pd; }
int ibv_dealloc_pd(struct ibv_pd *pd) { return destroy(pd, PD); }

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	object_of(pd, PD);
	last_access = access;
	MAKE(o, MR)
	o->u.mr.lkey = 0x1000 + created;
	o->u.mr.rkey = 0x2000 + created;
	return &o->u.mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
}

#ifndef OLD
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	if (fd < 0) {
		errno = EBADF;
		return NULL;
	}
	return ibv_reg_mr_iova2(pd, NULL, length, iova, access);
}
#endif

int ibv_dereg_mr(struct ibv_mr *mr) { return destroy(mr, MR); }

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
	MAKE(o, CHANNEL)
	if (pipe(o->pipe))
		return NULL;
	o->u.channel.context = c;
	o->u.channel.fd = o->pipe[0];
	return &o->u.channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ch)
{
	struct object *o = object_of(ch, CHANNEL);

	close(o->pipe[0]);
	close(o->pipe[1]);
	return destroy(ch, CHANNEL);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *context, struct ibv_comp_channel *ch, int vector)
{
	if (ch)
		object_of(ch, CHANNEL);
	MAKE(o, CQ)
	o->u.cq.context = c;
	o->u.cq.channel = ch;
	o->u.cq.cqe = cqe;
	o->wcs = calloc(cqe, sizeof(*o->wcs));
	last_cq = o;
	return &o->u.cq;
}

int ibv_destroy_cq(struct ibv_cq *cq) { return destroy(cq, CQ); }

int ibv_get_cq_event(struct ibv_comp_channel *ch, struct ibv_cq **cq, void **context)
{
	struct object *o = object_of(ch, CHANNEL);

	if (read(o->pipe[0], cq, sizeof(*cq)) != sizeof(*cq))
		return -1;
	object_of(*cq, CQ)->unacked++;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n) { object_of(cq, CQ)->unacked -= n; }

static void complete(struct ibv_cq *cq, struct ibv_wc wc)
{
	struct object *o = object_of(cq, CQ);

	if (o->count == o->u.cq.cqe) {
		misuse++; /* overrun */
		return;
	}
	wc.status = fails[FAIL_STATUS];
	o->wcs[o->count++] = wc;
	if (o->armed && cq->channel) {
		o->armed = 0;
		if (write(object_of(cq->channel, CHANNEL)->pipe[1], &cq, sizeof(cq)) < 0)
			misuse++;
	}
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct object *o = object_of(cq, CQ);

	if (fails[FAIL_POLL])
		return -fails[FAIL_POLL];
	if (n > o->count)
		n = o->count;
	memcpy(wc, o->wcs, n * sizeof(*wc));
	o->count -= n;
	memmove(o->wcs, o->wcs + n, o->count * sizeof(*wc));
	return n;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited) { object_of(cq, CQ)->armed = 1; return 0; }

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	object_of(pd, PD);
	object_of(a->send_cq, CQ);
	object_of(a->recv_cq, CQ);
	if (a->srq)
		object_of(a->srq, SRQ);
	MAKE(o, QP)
	o->u.qp.context = pd->context;
	o->u.qp.send_cq = a->send_cq;
	o->u.qp.recv_cq = a->recv_cq;
	o->u.qp.qp_num = 0x100 + created;
	o->u.qp.qp_type = a->qp_type;
	o->sig_all = a->sq_sig_all;
	a->cap.max_send_wr += 3;
	last_qp = o;
	return &o->u.qp;
}

int ibv_destroy_qp(struct ibv_qp *qp) { return destroy(qp, QP); }

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
	object_of(qp, QP);
	if (fails[FAIL_MODIFY])
		return fails[FAIL_MODIFY];
	last_attr = *a;
	last_mask = mask;
	qp->state = a->qp_state;
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask, struct ibv_qp_init_attr *init)
{
	object_of(qp, QP);
	*a = last_attr;
	a->qp_state = qp->state;
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a)
{
	object_of(pd, PD);
	last_ah = *a;
	MAKE(o, AH)
	return &o->u.ah;
}

int ibv_destroy_ah(struct ibv_ah *ah) { return destroy(ah, AH); }

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
	object_of(pd, PD);
	MAKE(o, SRQ)
	last_srq = o;
	if (a->attr.max_wr == 13) /* nothing is granted */
		a->attr.max_wr = 0;
	srq_size = a->attr.max_wr;
	return &o->u.srq;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *a, int mask)
{
	object_of(srq, SRQ);
	last_limit = mask == IBV_SRQ_LIMIT ? (int)a->srq_limit : -1;
	return fails[FAIL_MODIFY];
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *a)
{
	object_of(srq, SRQ);
	a->srq_limit = last_limit;
	a->max_wr = srq_size ? srq_size + 1 : 0; /* more than asked for, as drivers that round up */
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *srq) { return destroy(srq, SRQ); }

/* The first request fails with fails[FAIL_POST]. EPIPE names no request, as a driver does that has
 * taken them all and then lost the device; nor does the function of libibverbs for a device without
 * such a function, which returns EOPNOTSUPP. 255 is -1 without errno. */
static int post_failure(void *wr, void *bad)
{
	int e = fails[FAIL_POST];

	if (e != EPIPE && e != EOPNOTSUPP && e != ENOSYS && e != 255)
		*(void **)bad = wr;
	return e == 255 ? -1 : e;
}

/* A completion for each request; the last one is recorded. Datagrams use their address handle. */
static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct object *o = object_of(qp, QP);

	for (last_chain = 0; wr; wr = wr->next, last_chain++) {
		struct ibv_wc wc = { .wr_id = wr->wr_id, .qp_num = qp->qp_num };

		if (fails[FAIL_POST])
			return post_failure(wr, bad);
		if (qp->qp_type == IBV_QPT_UD)
			object_of(wr->wr.ud.ah, AH);
		last_wr = *wr;
		memset(&last_sge, 0, sizeof(last_sge));
		if (wr->num_sge)
			last_sge = wr->sg_list[wr->num_sge - 1];
		if (wr->send_flags & IBV_SEND_INLINE)
			memcpy(last_data, (void *)(uintptr_t)last_sge.addr, last_sge.length);
		if (wr->send_flags & IBV_SEND_SIGNALED || o->sig_all)
			complete(qp->send_cq, wc);
	}
	return 0;
}

static int receive(struct ibv_cq *cq, uint32_t qpn, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	for (last_chain = 0; wr; wr = wr->next, last_chain++) {
		struct ibv_wc wc = {
			.wr_id = wr->wr_id, .qp_num = qpn, .opcode = IBV_WC_RECV, .byte_len = 5, .src_qp = 77, .slid = 9,
			.sl = 3, .dlid_path_bits = 2, .pkey_index = 4, .wc_flags = IBV_WC_GRH | IBV_WC_WITH_IMM,
			.imm_data = htobe32(0x01020304),
		};

		if (fails[FAIL_POST])
			return post_failure(wr, bad);
		complete(cq, wc);
	}
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	object_of(qp, QP);
	return receive(qp->recv_cq, qp->qp_num, wr, bad);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	object_of(srq, SRQ);
	return receive(&last_cq->u.cq, 0x999, wr, bad);
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	object_of(pd, PD);
	MAKE(o, MW)
	o->u.mw.rkey = 0x3000;
	return &o->u.mw;
}

static int dealloc_mw(struct ibv_mw *mw) { return destroy(mw, MW); }

/* fake_event reports an event of that type: of port 1, or of the last object of its kind. */
void fake_event(int type)
{
	struct ibv_async_event e = { .event_type = type };

	switch (type) {
	case IBV_EVENT_CQ_ERR:
		e.element.cq = &last_cq->u.cq;
		break;
	case IBV_EVENT_QP_FATAL:
		e.element.qp = &last_qp->u.qp;
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		e.element.srq = &last_srq->u.srq;
		break;
	default:
		e.element.port_num = 1;
	}
	if (write(async_pipe[1], &e, sizeof(e)) < 0)
		misuse++;
}

static atomic_int unacked_events;

int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *e)
{
	if (read(c->async_fd, e, sizeof(*e)) != sizeof(*e))
		return -1;
	unacked_events++;
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *e) { unacked_events--; }
int fake_unacked_events(void) { return unacked_events; }

static void fill_ops(struct verbs_context *v)
{
	struct ibv_context_ops *ops = &v->context.ops;

	ops->poll_cq = poll_cq;
	ops->req_notify_cq = req_notify_cq;
	ops->post_send = post_send;
	ops->post_recv = post_recv;
	ops->post_srq_recv = post_srq_recv;
	ops->alloc_mw = alloc_mw;
	ops->dealloc_mw = dealloc_mw;
	if (pipe(async_pipe))
		misuse++;
	v->context.async_fd = async_pipe[0];
}
