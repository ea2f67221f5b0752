/* Time of the calls of the data path in a C program that is linked with the stand-in library: its
 * functions behind ibv_post_send, ibv_post_recv and ibv_poll_cq, which verbs.h calls inline. It
 * prints ns per call, a line each: the median of all batches of 16 calls, or of 4 polls of 16
 * completions, without the time of reading the clock. The argument is the number of batches. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 16, DEPTH = 64 };

static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_sge sge = { .length = 64 };
static struct ibv_send_wr send_wr = {
	.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
};
static struct ibv_recv_wr recv_wr = { .sg_list = &sge, .num_sge = 1 };

static void require(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void post_send(void)
{
	struct ibv_send_wr *bad;

	require(!ibv_post_send(qp, &send_wr, &bad), "ibv_post_send");
}

static void post_recv(void)
{
	struct ibv_recv_wr *bad;

	require(!ibv_post_recv(qp, &recv_wr, &bad), "ibv_post_recv");
}

static void post_4(void)
{
	for (int i = 0; i < DEPTH / BATCH; i++)
		post_send();
}

static void poll(int room, int want)
{
	struct ibv_wc wc[BATCH];

	require(ibv_poll_cq(cq, room, wc) == want, "ibv_poll_cq");
}

static void poll_empty(void) { poll(BATCH, 0); }
static void poll_one(void) { poll(1, 1); }
static void poll_16(void) { poll(BATCH, BATCH); }
static void nothing(void) { }

static const struct op {
	const char *name;
	void (*before)(void), (*call)(void);
	int calls;
	void (*after)(void);
} ops[] = {
	{ "clock", nothing, nothing, 1, nothing },
	{ "post send", nothing, post_send, BATCH, poll_16 },
	{ "post receive", nothing, post_recv, BATCH, poll_16 },
	{ "poll, empty", nothing, poll_empty, BATCH, nothing },
	{ "poll, 1 completion", post_send, poll_one, BATCH, nothing },
	{ "poll, 16 completions", post_4, poll_16, DEPTH / BATCH, nothing },
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median time of the calls between two readings of the clock. */
static double measure(const struct op *op, double *times, int batches)
{
	for (int i = 0; i < batches; i++) {
		for (int k = 0; k < BATCH; k++)
			op->before();
		double start = now();

		for (int k = 0; k < op->calls; k++)
			op->call();
		times[i] = now() - start;
		op->after();
	}
	qsort(times, batches, sizeof(*times), ascending);
	return times[batches / 2];
}

int main(int argc, char **argv)
{
	int batches = argc == 2 ? atoi(argv[1]) : 0;
	static char buffer[64];
	double clock = 0, *times;

	require(batches > 0, "usage: callcost BATCHES");
	times = calloc(batches, sizeof(*times));
	struct ibv_device **list = ibv_get_device_list(&(int){ 0 });
	require(list != NULL, "ibv_get_device_list");
	struct ibv_context *context = ibv_open_device(list[0]);
	require(context != NULL, "ibv_open_device");
	struct ibv_pd *pd = ibv_alloc_pd(context);
	require(pd != NULL, "ibv_alloc_pd");
	struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	require(mr != NULL, "ibv_reg_mr");
	cq = ibv_create_cq(context, DEPTH, NULL, NULL, 0);
	require(cq != NULL, "ibv_create_cq");
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC };
	qp = ibv_create_qp(pd, &init);
	require(qp != NULL, "ibv_create_qp");
	sge.addr = (uintptr_t)buffer;
	sge.lkey = mr->lkey;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		double time = measure(&ops[i], times, batches);

		if (i == 0)
			clock = time;
		else
			printf("%s: %.2f\n", ops[i].name, (time - clock) / ops[i].calls);
	}
	return 0;
}
