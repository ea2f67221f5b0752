/*
 * Preloaded before libumad2sim: carries messages of subnet administration that are longer than a
 * management datagram between programs at one ibsim, which the kernel does with RMPP. The sender
 * leaves each such message in a file of the directory LONG_MADS, named by the low half of the
 * transaction ID; the receiver gets it from umad_recv as from the kernel: whole, or ENOSPC and the
 * length. A file named "answer" there takes the place of each answer to GetTable, except for its
 * transaction ID.
 * The last query that a program has sent is in the file "query".
 * A message that arrives in segments is reassembled and acknowledged, as by the kernel
 * (specification section 13.6.2); a lost segment isn't handled.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 64, MAD = 256, CLASS = 1, METHOD = 3, TID = 12, CLASS_SA = 3, RESPONSE = 0x80, TABLE = 0x92 };

static void keep_query(const unsigned char *mad)
{
	const char *dir = getenv("LONG_MADS");
	char name[4096];
	int file;

	if (!dir || mad[CLASS] != CLASS_SA || mad[METHOD] & RESPONSE)
		return;
	snprintf(name, sizeof name, "%s/query", dir);
	file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	if (write(file, mad, MAD) != MAD)
		abort();
	close(file);
}

static int name_of(char *name, size_t size, const unsigned char *mad, const char *suffix)
{
	const char *dir = getenv("LONG_MADS");

	if (!dir || mad[CLASS] != CLASS_SA || !(mad[METHOD] & RESPONSE))
		return 0;
	snprintf(name, size, "%s/%02x%02x%02x%02x%s", dir, mad[TID], mad[TID + 1], mad[TID + 2], mad[TID + 3], suffix);
	return 1;
}

int umad_send(int fd, int agent, void *umad, int length, int timeout, int retries)
{
	static int (*next)(int, int, void *, int, int, int);
	char name[4096], temporary[4096];
	unsigned char *mad = (unsigned char *)umad + HEADER;

	if (!next)
		next = dlsym(RTLD_NEXT, "umad_send");
	if (length > MAD && name_of(name, sizeof name, mad, "") && name_of(temporary, sizeof temporary, mad, ".new")) {
		int file = open(temporary, O_CREAT | O_WRONLY | O_TRUNC, 0600);
		ssize_t n = write(file, mad, length);

		close(file);
		if (n != length || rename(temporary, name))
			abort();
	}
	keep_query(mad);
	return next(fd, agent, umad, length, timeout, retries);
}

enum { VERSION = 24, TYPE = 25, FLAGS = 26, SEGMENT = 28, LENGTH = 32, DATA_AT = 56, DATA = MAD - DATA_AT };
enum { RMPP_DATA = 1, RMPP_ACK = 2, ACTIVE = 1, LAST = 4, HEAD_REST = 20, WINDOW = 4 };

/* Of wholemads.c, which is preloaded too. */
void whole_mad(unsigned char *mad) __attribute__((weak));

static unsigned get32(const unsigned char *p) { return p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

static void put32(unsigned char *p, unsigned v)
{
	p[0] = v >> 24, p[1] = v >> 16, p[2] = v >> 8, p[3] = v;
}

static int is_segment(const unsigned char *mad)
{
	return mad[CLASS] == CLASS_SA && mad[METHOD] == TABLE && mad[VERSION] == 1 && mad[TYPE] == RMPP_DATA &&
	       mad[FLAGS] & ACTIVE;
}

/* Returns the message whose first segment is in umad, or NULL if the other segments don't arrive. */
static unsigned char *reassemble(int fd, int agent, void *umad, int timeout, int *length)
{
	static int (*receive)(int, void *, int *, int);
	static int (*send)(int, int, void *, int, int, int);
	unsigned char *mad = (unsigned char *)umad + HEADER, *message = NULL;
	unsigned received = 0, window = 1;

	if (!receive)
		receive = dlsym(RTLD_NEXT, "umad_recv");
	if (!send)
		send = dlsym(RTLD_NEXT, "umad_send");
	for (;;) {
		unsigned n = get32(mad + SEGMENT), last = mad[FLAGS] & LAST;
		int size = MAD;

		if (is_segment(mad) && n == received + 1) {
			message = realloc(message, HEADER + DATA_AT + n * DATA);
			if (n == 1)
				memcpy(message, umad, HEADER + DATA_AT);
			memcpy(message + HEADER + DATA_AT + (n - 1) * DATA, mad + DATA_AT, DATA);
			*length = DATA_AT + (n - 1) * DATA + (last ? get32(mad + LENGTH) - HEAD_REST : DATA);
			received = n;
			if (last || n == window) {
				unsigned char ack[HEADER + MAD];

				window += WINDOW;
				memcpy(ack, umad, sizeof ack);
				ack[HEADER + METHOD] &= ~RESPONSE;
				ack[HEADER + TYPE] = RMPP_ACK;
				ack[HEADER + FLAGS] = ACTIVE;
				put32(ack + HEADER + SEGMENT, received);
				put32(ack + HEADER + LENGTH, window);
				if (send(fd, agent, ack, MAD, 0, 0) < 0)
					abort();
			}
			if (last)
				return message;
		}
		if (receive(fd, umad, &size, timeout) < 0) {
			free(message);
			return NULL;
		}
		if (whole_mad)
			whole_mad(mad);
	}
}

int umad_recv(int fd, void *umad, int *length, int timeout)
{
	static int (*next)(int, void *, int *, int);
	static unsigned char *pending; /* one at a time: the tools ask one question at a time */
	static int pending_length, pending_agent;
	char name[4096];
	unsigned char *mad = (unsigned char *)umad + HEADER;
	struct stat status;
	int agent, file, room = *length, planted = 0;

	if (!next)
		next = dlsym(RTLD_NEXT, "umad_recv");
	if (!pending) {
		agent = next(fd, umad, length, timeout);
		if (agent >= 0 && room >= MAD && whole_mad)
			whole_mad(mad);
		if (agent < 0 || !name_of(name, sizeof name, mad, ""))
			return agent;
		if (is_segment(mad)) {
			pending = reassemble(fd, agent, umad, timeout, &pending_length);
			if (!pending)
				return -ETIMEDOUT;
			pending_agent = agent;
		} else {
			if (mad[METHOD] == TABLE) {
				char answer[4096];

				snprintf(answer, sizeof answer, "%s/answer", getenv("LONG_MADS"));
				planted = !stat(answer, &status);
				if (planted) {
					unlink(name);
					strcpy(name, answer);
				}
			}
			if (!planted && stat(name, &status))
				return agent;
			pending_agent = agent;
			pending_length = status.st_size;
			pending = malloc(HEADER + pending_length);
			memcpy(pending, umad, HEADER);
			file = open(name, O_RDONLY);
			if (read(file, pending + HEADER, pending_length) != pending_length)
				abort();
			close(file);
			if (planted)
				memcpy(pending + HEADER + 8, mad + 8, 8);
			else
				unlink(name);
		}
	}
	*length = pending_length;
	if (room < pending_length) {
		errno = ENOSPC;
		return -ENOSPC;
	}
	memcpy(umad, pending, HEADER + pending_length);
	free(pending);
	pending = NULL;
	return pending_agent;
}
