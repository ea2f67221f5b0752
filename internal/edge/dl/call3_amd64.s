//go:build linux && !android && !nodl

#include "textflag.h"

// The offsets are those of struct call3Frame.

GLOBL ·call3Code(SB), NOPTR|RODATA, $8
DATA ·call3Code(SB)/8, $call3(SB)

// call3 runs on the system stack of the thread, in C's calling convention (System V AMD64): DI is
// the frame. With its 16 bytes and the saved BP the stack is aligned to 16 bytes at the call.
TEXT call3(SB), NOSPLIT, $16
	MOVQ DI, 8(SP)
	MOVQ 0(DI), AX
	MOVQ 16(DI), SI
	MOVQ 24(DI), DX
	MOVQ 8(DI), DI
	CALL AX
	MOVQ 8(SP), DI
	MOVQ AX, 32(DI)
	RET
