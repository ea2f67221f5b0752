/*
 * A stand-in for the driver libraries of GPUs, compiled with -DCUDA, -DHIP or -DHSA. Addresses of
 * its GPU memory are not those of the host: a program that touches them crashes. It records its
 * calls, and fails on demand.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char calls[1 << 16];
static char failing[64];
static int failure, gpus = 2, dmabuf = 1;

const char *fake_calls(void) { return calls; }
void fake_reset(void) { calls[0] = 0; failing[0] = 0; gpus = 2; dmabuf = 1; }
void fake_gpus(int n) { gpus = n; }
void fake_dmabuf(int on) { dmabuf = on; }
void fake_fail(const char *name, int status) { snprintf(failing, sizeof(failing), "%s", name); failure = status; }

/* Records a call and returns its status. */
static int called(const char *name)
{
	size_t n = strlen(calls);

	snprintf(calls + n, sizeof(calls) - n, "%s\n", name);
	return strcmp(name, failing) ? 0 : failure;
}

#define CALL(name)                        \
	do {                              \
		int s = called(name);     \
		if (s)                    \
			return s;         \
	} while (0)

/* One allocation; the GPU's address lies in the part of the address space that no program has. */
#define BASE 0x9000000000010000ull
#ifdef ODD
#define ADDRESS (BASE + 0x100) /* not at the start of a page */
#else
#define ADDRESS BASE
#endif
static char *memory;
static uint64_t allocated;

static int allocate(uint64_t *addr, size_t n, int out_of_memory)
{
	if (memory || n > (1u << 28))
		return out_of_memory;
	n += ADDRESS - BASE;
	memory = malloc(n);
	memset(memory, 0xee, n);
	allocated = n;
	*addr = ADDRESS;
	return 0;
}

static char *host(uint64_t addr, size_t n)
{
	return memory && addr >= BASE && addr + n <= BASE + allocated ? memory + (addr - BASE) : NULL;
}

static int release(uint64_t addr)
{
	if (!memory || addr != ADDRESS)
		return 1;
	free(memory);
	memory = NULL;
	return 0;
}

#ifdef CUDA
static __thread uint64_t current; /* of each thread, as in CUDA */
static uint64_t retained;

#define CONTEXT 0x1234
#define NEED_CONTEXT                                  \
	do {                                          \
		if (!retained || current != CONTEXT)  \
			return 201;                   \
	} while (0)

int cuGetErrorString(int error, const char **text)
{
	*text = error == 2 ? "out of memory" : error == 100 ? "no CUDA-capable device is detected" : NULL;
	return *text ? 0 : 1;
}
int cuInit(unsigned flags) { CALL("cuInit"); return flags ? 1 : gpus ? 0 : 100; }
int cuDeviceGetCount(int *n) { CALL("cuDeviceGetCount"); *n = gpus; return 0; }
int cuDeviceGet(int *device, int i) { CALL("cuDeviceGet"); *device = i + 40; return 0; }
int cuDeviceGetName(char *name, int n, int device)
{
	CALL("cuDeviceGetName");
	snprintf(name, n, "Stand-in %d", device - 40);
	return 0;
}
int cuDeviceGetAttribute(int *value, int which, int device)
{
	CALL("cuDeviceGetAttribute");
	*value = which == 124 && device >= 40 ? dmabuf : 0;
	return 0;
}
int cuDevicePrimaryCtxRetain(uint64_t *context, int device)
{
	CALL("cuDevicePrimaryCtxRetain");
	retained++;
	*context = CONTEXT;
	return device < 40;
}
int cuDevicePrimaryCtxRelease_v2(int device)
{
	CALL("cuDevicePrimaryCtxRelease");
	if (!retained || memory)
		return 201;
	retained--;
	return device < 40;
}
static int threads;
int fake_threads(void) { return __atomic_load_n(&threads, __ATOMIC_SEQ_CST); } /* with a context */
int cuCtxSetCurrent(uint64_t context)
{
	__atomic_add_fetch(&threads, !!context - !!current, __ATOMIC_SEQ_CST);
	current = context;
	return 0;
}
int cuCtxSynchronize(void) { NEED_CONTEXT; CALL("cuCtxSynchronize"); return 0; }
int cuMemAlloc_v2(uint64_t *addr, size_t n) { NEED_CONTEXT; CALL("cuMemAlloc"); return allocate(addr, n, 2); }
int cuMemFree_v2(uint64_t addr) { NEED_CONTEXT; CALL("cuMemFree"); return release(addr); }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n)
{
	NEED_CONTEXT;
	CALL("cuMemcpyHtoD");
	if (!host(to, n))
		return 1;
	memcpy(host(to, n), from, n);
	return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n)
{
	NEED_CONTEXT;
	CALL("cuMemcpyDtoH");
	if (!host(from, n))
		return 1;
	memcpy(to, host(from, n), n);
	return 0;
}
#ifndef OLD
int cuMemGetHandleForAddressRange(void *handle, uint64_t addr, size_t n, int type, uint64_t flags)
{
	NEED_CONTEXT;
	CALL("cuMemGetHandleForAddressRange");
	if (!host(addr, n) || addr % 4096 || n % 4096 || type != 1 || flags)
		return 1;
	*(int *)handle = memfd_create("dma-buf", 0);
	return 0;
}
#endif
#endif

#ifdef HIP
static __thread int device = -1;

#define NEED_DEVICE          \
	if (device != 1)     \
		return 101;

const char *hipGetErrorString(int error) { return error == 2 ? "out of memory" : "unknown error"; }
int hipGetDeviceCount(int *n) { CALL("hipGetDeviceCount"); *n = gpus; return gpus ? 0 : 100; }
int hipSetDevice(int i) { device = i; return i >= gpus; }
int hipDeviceGetName(char *name, int n, int i)
{
	CALL("hipDeviceGetName");
	snprintf(name, n, "Stand-in %d", i);
	return 0;
}
int hipDeviceSynchronize(void) { NEED_DEVICE CALL("hipDeviceSynchronize"); return 0; }
int hipMalloc(uint64_t *addr, size_t n) { NEED_DEVICE CALL("hipMalloc"); return allocate(addr, n, 2); }
int hipFree(uint64_t addr) { NEED_DEVICE CALL("hipFree"); return release(addr); }
int hipMemcpy(uint64_t to, uint64_t from, size_t n, int kind)
{
	NEED_DEVICE
	CALL(kind == 1 ? "hipMemcpy to device" : "hipMemcpy to host");
	if (!host(kind == 1 ? to : from, n) || (kind != 1 && kind != 2))
		return 1;
	if (kind == 1)
		memcpy(host(to, n), (void *)from, n);
	else
		memcpy((void *)to, host(from, n), n);
	return 0;
}
#endif

#ifdef HSA
int hsa_amd_portable_export_dmabuf(uint64_t addr, size_t n, int *fd, uint64_t *offset)
{
	CALL("hsa_amd_portable_export_dmabuf");
	if (addr % 4096 || n % 4096)
		return 0x1001;
	*fd = memfd_create("dma-buf", 0);
	*offset = 8192;
	return 0;
}
#endif
