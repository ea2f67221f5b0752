//go:build linux && !android && !nodl

#include "textflag.h"

// The offsets are those of struct call3Frame.

GLOBL ·call3Code(SB), NOPTR|RODATA, $8
DATA ·call3Code(SB)/8, $call3(SB)

// call3 runs on the system stack of the thread, in C's calling convention (AAPCS64): R0 is the
// frame. It saves link register and frame pointer where C does; Go keeps the frame pointer below
// the stack pointer, where C code may overwrite it.
TEXT call3(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -32(RSP)
	MOVD  RSP, R29
	MOVD  R0, 16(RSP)
	MOVD  0(R0), R9
	MOVD  16(R0), R1
	MOVD  24(R0), R2
	MOVD  8(R0), R0
	CALL  (R9)
	MOVD  16(RSP), R9
	MOVD  R0, 32(R9)
	LDP.P 32(RSP), (R29, R30)
	RET
