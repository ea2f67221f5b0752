//go:build !arm64

package ibverbs

// mutexWords is the size, in words of 8 bytes, of glibc's pthread_mutex_t, which is a member of
// struct ibv_context: 40 bytes on amd64, loong64, ppc64, riscv64 and s390x.
const mutexWords = 5
