//go:build !arm64

package ibverbs

// mutexWords is the size of glibc's pthread_mutex_t, which lies in the middle of struct
// ibv_context, in words of 8 bytes: 40 bytes on amd64, loong64, ppc64, riscv64 and s390x.
const mutexWords = 5
