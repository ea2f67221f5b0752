package ibverbs

// mutexWords is the size, in words of 8 bytes, of glibc's pthread_mutex_t, which is a member of
// struct ibv_context (sysdeps/aarch64/nptl/bits/pthreadtypes-arch.h).
const mutexWords = 6
