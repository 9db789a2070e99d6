//go:build arm64 && !noasm

#include "textflag.h"

// SDOT is the manual's sdot d.4s, n.16b, m.16b, which Go's assembler does not
// know, by the numbers of the registers.
#define SDOT(m, n, d) WORD $(0x4E809400 | (m)<<16 | (n)<<5 | (d))

// STEP multiplies 16 dimensions of four vectors by both planes: the high one's
// sums are V0 to V3, the low one's V4 to V7.
#define STEP(disp) \
	FMOVQ   disp(R4), F16; \
	FMOVQ   disp+64(R4), F17; \
	FMOVQ.P 16(R5), F18; \
	FMOVQ.P 16(R6), F19; \
	FMOVQ.P 16(R7), F20; \
	FMOVQ.P 16(R8), F21; \
	SDOT(16, 18, 0); \
	SDOT(16, 19, 1); \
	SDOT(16, 20, 2); \
	SDOT(16, 21, 3); \
	SDOT(17, 18, 4); \
	SDOT(17, 19, 5); \
	SDOT(17, 20, 6); \
	SDOT(17, 21, 7)

// FOLD stores 128 times the sum of the lanes of high plus that of low.
#define FOLD(high, low, scalar) \
	VSHL    $7, high.S4, high.S4; \
	VADD    low.S4, high.S4, high.S4; \
	VADDV   high.S4, high; \
	FMOVS.P scalar, 4(R0)

#define CLEAR(v) VEOR v.B16, v.B16, v.B16

// func products4(products *[4]int32, values *int8, dimensions int, planes *int8)
TEXT ·products4(SB), NOSPLIT, $0-32
	MOVD products+0(FP), R0
	MOVD values+8(FP), R5
	MOVD dimensions+16(FP), R3
	MOVD planes+24(FP), R4
	ADD  R3, R5, R6
	ADD  R3, R6, R7
	ADD  R3, R7, R8
	CLEAR(V0)
	CLEAR(V1)
	CLEAR(V2)
	CLEAR(V3)
	CLEAR(V4)
	CLEAR(V5)
	CLEAR(V6)
	CLEAR(V7)
	LSR  $6, R3, R9
	CBZ  R9, half

whole:
	STEP(0)
	STEP(16)
	STEP(32)
	STEP(48)
	ADD  $128, R4
	SUBS $1, R9
	BNE  whole

half:
	TBZ $5, R3, fold
	STEP(0)
	STEP(16)

fold:
	FOLD(V0, V4, F0)
	FOLD(V1, V5, F1)
	FOLD(V2, V6, F2)
	FOLD(V3, V7, F3)
	RET
