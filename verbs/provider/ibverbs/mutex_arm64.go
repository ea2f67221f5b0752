package ibverbs

// mutexWords is the size of glibc's pthread_mutex_t, which lies in the middle of struct
// ibv_context, in words of 8 bytes (sysdeps/aarch64/nptl/bits/pthreadtypes-arch.h).
const mutexWords = 6
