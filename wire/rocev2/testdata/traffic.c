// traffic generates every kind of RoCE v2 packet that the kernel's soft RoCE sends, for packets.txt.
//
//	cc -O1 -Wall -o traffic traffic.c -libverbs
//	traffic rxe0 18600            on one machine
//	traffic rxe0 18600 192.0.2.2  on the other, which sends the requests
//
// Each step uses a new pair of queue pairs, with an IPv4 GID or one of 2001:db8::/32. Both ends run
// the same list of steps, and synchronize over a TCP connection between them.
#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/verbs.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 1 << 16, QKEY = 0x11111111, FIRST_PSN = 0xfffffe };
enum { ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static unsigned char *buf;
static int sock, driving;

struct end {
	uint32_t qpn, rkey, mw_rkey;
	uint64_t addr;
	union ibv_gid gid;
} mine, peer;

#define CHECK(what) do { if (!(what)) { perror(#what); exit(1); } } while (0)

static void swap(void)
{
	CHECK(write(sock, &mine, sizeof mine) == sizeof mine);
	CHECK(recv(sock, &peer, sizeof peer, MSG_WAITALL) == sizeof peer);
}

// meet returns when the other end has called it too.
static void meet(void)
{
	char c = 0;
	CHECK(write(sock, &c, 1) == 1 && read(sock, &c, 1) == 1);
}

// done returns the status of the next completion, or -1 after a timeout.
static int done(double seconds)
{
	struct ibv_wc wc;
	for (int i = 0; i < seconds * 1000; i++, usleep(1000))
		if (ibv_poll_cq(cq, 1, &wc) > 0)
			return wc.status;
	return -1;
}

static int gid_index(int v6)
{
	static const unsigned char mapped[12] = {[10] = 0xff, 0xff}, doc[4] = {0x20, 0x01, 0x0d, 0xb8};
	for (int i = 0; i < 64; i++)
		if (!ibv_query_gid(ctx, 1, i, &mine.gid) && (v6 ? !memcmp(&mine.gid, doc, 4) : !memcmp(&mine.gid, mapped, 12)))
			return i;
	fprintf(stderr, "no GID of that kind\n");
	exit(1);
}

enum { WRONG_KEY = 1, NO_ACCESS = 2, LATE_RECEIVE = 4, SHORT_RECEIVE = 8, GAP = 16, WINDOW = 32, RECEIVE = 64 };

struct step {
	enum ibv_qp_type type;
	int v6, mtu, op, length, how;
};

static struct ibv_qp *pair(const struct step *s)
{
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = s->type, .cap = {64, 64, 1, 1}};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	CHECK(qp);
	int index = gid_index(s->v6);
	mine.qpn = qp->qp_num, mine.rkey = mr->rkey, mine.addr = (uintptr_t)buf;
	swap();
	int ud = s->type == IBV_QPT_UD, rc = s->type == IBV_QPT_RC;
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
		.qp_access_flags = s->how & NO_ACCESS ? 0 : ALL,
	};
	CHECK(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
	a.qp_state = IBV_QPS_RTR, a.path_mtu = s->mtu, a.dest_qp_num = peer.qpn, a.rq_psn = FIRST_PSN;
	a.max_dest_rd_atomic = 4, a.min_rnr_timer = 20;
	a.ah_attr = (struct ibv_ah_attr){.is_global = 1, .port_num = 1, .grh = {.dgid = peer.gid, .sgid_index = index, .hop_limit = 64}};
	CHECK(!ibv_modify_qp(qp, &a, IBV_QP_STATE | (ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
		(rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)));
	a.qp_state = IBV_QPS_RTS, a.sq_psn = FIRST_PSN + (driving && s->how & GAP ? 3 : 0);
	a.timeout = 17, a.retry_cnt = 1, a.rnr_retry = 7, a.max_rd_atomic = 4;
	CHECK(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN |
		(rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0)));
	return qp;
}

static void receive(struct ibv_qp *qp, int length)
{
	struct ibv_sge sge = {(uintptr_t)buf + SIZE / 2, length, mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	CHECK(!ibv_post_recv(qp, &wr, &bad));
}

// window binds a memory window that the peer may invalidate.
static void window(struct ibv_qp *qp, struct ibv_mw *mw)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED}, *bad;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mine.mw_rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){mr, (uintptr_t)buf, 4096, IBV_ACCESS_REMOTE_WRITE};
	CHECK(!ibv_post_send(qp, &wr, &bad));
	int status = done(1);
	if (status)
		fprintf(stderr, "bind: status %d\n", status);
}

static void run(const struct step *s)
{
	struct ibv_qp *qp = pair(s);
	struct ibv_mw *mw = NULL;
	if (!driving && s->how & RECEIVE)
		receive(qp, SIZE / 2);
	if (!driving && s->how & SHORT_RECEIVE)
		receive(qp, 4);
	if (!driving && s->how & WINDOW) {
		mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		CHECK(mw);
		window(qp, mw);
	}
	swap(); // the key of the window
	int status = 0;
	if (driving) {
		for (int i = 0; i < s->length; i++)
			buf[i] = i * 7 + s->op;
		struct ibv_sge sge = {(uintptr_t)buf, s->length, mr->lkey};
		struct ibv_send_wr wr = {.opcode = s->op, .sg_list = &sge, .num_sge = s->length > 0, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED}, *bad;
		uint32_t rkey = peer.rkey ^ (s->how & WRONG_KEY ? 0xff : 0);
		uint64_t to = peer.addr + SIZE / 2;
		wr.imm_data = htobe32(0x01020304);
		if (s->op == IBV_WR_SEND_WITH_INV)
			wr.invalidate_rkey = peer.mw_rkey;
		if (s->type == IBV_QPT_UD) {
			struct ibv_ah_attr a = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer.gid, .sgid_index = gid_index(s->v6), .hop_limit = 64}};
			wr.wr.ud.ah = ibv_create_ah(pd, &a);
			CHECK(wr.wr.ud.ah);
			wr.wr.ud.remote_qpn = peer.qpn, wr.wr.ud.remote_qkey = QKEY;
		} else if (s->op == IBV_WR_ATOMIC_CMP_AND_SWP || s->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.remote_addr = to, wr.wr.atomic.rkey = rkey;
			wr.wr.atomic.compare_add = 0x0123456789abcdef, wr.wr.atomic.swap = 0xfedcba9876543210;
		} else {
			wr.wr.rdma.remote_addr = to, wr.wr.rdma.rkey = rkey;
		}
		CHECK(!ibv_post_send(qp, &wr, &bad));
		status = done(s->how & GAP ? 3 : 5);
		printf("type %d %s mtu %d op %d length %d how %d: status %d\n", s->type, s->v6 ? "IPv6" : "IPv4", 128 << s->mtu, s->op, s->length, s->how, status);
		fflush(stdout);
	} else if (s->how & LATE_RECEIVE) {
		usleep(30000);
		receive(qp, SIZE / 2);
	}
	meet();
	while (done(0.002) >= 0)
		;
	CHECK(!ibv_destroy_qp(qp));
	if (mw)
		ibv_dealloc_mw(mw);
}

#define M256 IBV_MTU_256
#define RC IBV_QPT_RC
#define UC IBV_QPT_UC
#define UD IBV_QPT_UD

static const struct step steps[] = {
	{RC, 0, M256, IBV_WR_SEND, 0, RECEIVE},
	{RC, 0, M256, IBV_WR_SEND, 700, RECEIVE},
	{RC, 0, M256, IBV_WR_SEND_WITH_IMM, 5, RECEIVE},
	{RC, 0, M256, IBV_WR_SEND_WITH_IMM, 513, RECEIVE},
	{RC, 0, M256, IBV_WR_SEND_WITH_INV, 6, RECEIVE | WINDOW},
	{RC, 0, M256, IBV_WR_SEND_WITH_INV, 258, RECEIVE | WINDOW},
	{RC, 0, M256, IBV_WR_RDMA_WRITE, 7, 0},
	{RC, 0, M256, IBV_WR_RDMA_WRITE, 600, 0},
	{RC, 0, M256, IBV_WR_RDMA_WRITE_WITH_IMM, 8, RECEIVE},
	{RC, 0, M256, IBV_WR_RDMA_WRITE_WITH_IMM, 259, RECEIVE},
	{RC, 0, M256, IBV_WR_RDMA_READ, 9, 0},
	{RC, 0, M256, IBV_WR_RDMA_READ, 700, 0},
	{RC, 0, M256, IBV_WR_ATOMIC_CMP_AND_SWP, 8, 0},
	{RC, 0, M256, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0},
	{RC, 0, M256, IBV_WR_SEND, 4, LATE_RECEIVE},
	{RC, 0, M256, IBV_WR_SEND, 4, RECEIVE | GAP},
	{RC, 0, M256, IBV_WR_SEND, 16, SHORT_RECEIVE},
	{RC, 0, M256, IBV_WR_RDMA_WRITE, 4, WRONG_KEY},
	{RC, 0, M256, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, NO_ACCESS},
	{RC, 1, M256, IBV_WR_SEND, 10, RECEIVE},
	{RC, 1, M256, IBV_WR_RDMA_WRITE, 600, 0},
	{RC, 1, M256, IBV_WR_RDMA_WRITE_WITH_IMM, 11, RECEIVE},
	{RC, 1, M256, IBV_WR_RDMA_READ, 600, 0},
	{RC, 1, M256, IBV_WR_ATOMIC_CMP_AND_SWP, 8, 0},
	{UC, 0, M256, IBV_WR_SEND, 700, RECEIVE},
	{UC, 0, M256, IBV_WR_SEND, 3, RECEIVE},
	{UC, 0, M256, IBV_WR_SEND_WITH_IMM, 2, RECEIVE},
	{UC, 0, M256, IBV_WR_SEND_WITH_IMM, 257, RECEIVE},
	{UC, 0, M256, IBV_WR_RDMA_WRITE, 600, 0},
	{UC, 0, M256, IBV_WR_RDMA_WRITE, 1, 0},
	{UC, 0, M256, IBV_WR_RDMA_WRITE_WITH_IMM, 4, RECEIVE},
	{UC, 0, M256, IBV_WR_RDMA_WRITE_WITH_IMM, 260, RECEIVE},
	{UC, 1, M256, IBV_WR_RDMA_WRITE, 513, 0},
	{UD, 0, M256, IBV_WR_SEND, 14, RECEIVE},
	{UD, 0, M256, IBV_WR_SEND_WITH_IMM, 15, RECEIVE},
	{UD, 1, M256, IBV_WR_SEND, 16, RECEIVE},
	{UD, 1, M256, IBV_WR_SEND_WITH_IMM, 17, RECEIVE},
	{RC, 0, IBV_MTU_512, IBV_WR_RDMA_WRITE, 1025, 0},
	{RC, 1, IBV_MTU_1024, IBV_WR_RDMA_READ, 2049, 0},
	{RC, 0, IBV_MTU_2048, IBV_WR_SEND, 4097, RECEIVE},
	{RC, 0, IBV_MTU_4096, IBV_WR_RDMA_WRITE, 8193, 0},
	{RC, 1, IBV_MTU_4096, IBV_WR_RDMA_READ, 8195, 0},
};

static void dial(const char *host, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (host) {
		CHECK(inet_pton(AF_INET, host, &a.sin_addr) == 1 && !connect(s, (void *)&a, sizeof a));
		sock = s;
	} else {
		CHECK(!bind(s, (void *)&a, sizeof a) && !listen(s, 1) && (sock = accept(s, NULL, NULL)) >= 0);
	}
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: traffic DEVICE PORT [HOST]\n");
		return 2;
	}
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	for (int i = 0; i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
			CHECK(ctx = ibv_open_device(list[i]));
	CHECK(ctx && (pd = ibv_alloc_pd(ctx)) && (cq = ibv_create_cq(ctx, 256, NULL, NULL, 0)));
	CHECK(!posix_memalign((void **)&buf, 4096, SIZE));
	memset(buf, 0x5a, SIZE);
	CHECK(mr = ibv_reg_mr(pd, buf, SIZE, ALL | IBV_ACCESS_MW_BIND));
	driving = argc > 3;
	dial(argv[3], atoi(argv[2]));
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++)
		run(&steps[i]);
	return 0;
}
