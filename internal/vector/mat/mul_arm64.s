//go:build arm64 && !noasm

#include "textflag.h"
#include "neon_arm64.h"

// MADD adds to the four rows' sums in four columns: the product of row w of b
// with one value of each row of a.
#define MADD(lane, w, row0, row1, row2, row3) \
	FMLALANE4(16, lane, w, row0); \
	FMLALANE4(17, lane, w, row1); \
	FMLALANE4(18, lane, w, row2); \
	FMLALANE4(19, lane, w, row3)

#define MADDS(lane) \
	FLDPQ (R4), (F20, F21); \
	FLDPQ 32(R4), (F22, F23); \
	ADD R5, R4; \
	MADD(lane, 20, 0, 4, 8, 12); \
	MADD(lane, 21, 1, 5, 9, 13); \
	MADD(lane, 22, 2, 6, 10, 14); \
	MADD(lane, 23, 3, 7, 11, 15)

#define STORE16(f0, f1, f2, f3) \
	FSTPQ (f0, f1), (R0); \
	FSTPQ (f2, f3), 32(R0); \
	ADD R1, R0

#define TIMES(lane, a, b, c, d) \
	FMULLANE4(16, lane, a, a); \
	FMULLANE4(16, lane, b, b); \
	FMULLANE4(16, lane, c, c); \
	FMULLANE4(16, lane, d, d)

// func mulTile(c *float32, ldc int, a *float32, lda int, b *float32, ldb int, k int, scale *float32)
//
// Four rows and 16 columns. Every sum is one chain of FMLA over k, so that its
// bits depend on nothing but its row and its column.
TEXT ·mulTile(SB), NOSPLIT, $0-64
	MOVD c+0(FP), R0
	MOVD ldc+8(FP), R1
	MOVD a+16(FP), R6
	MOVD lda+24(FP), R3
	MOVD b+32(FP), R4
	MOVD ldb+40(FP), R5
	MOVD k+48(FP), R10
	MOVD scale+56(FP), R11
	LSL  $2, R1, R1
	LSL  $2, R3, R3
	LSL  $2, R5, R5
	ADD  R3, R6, R7
	ADD  R3, R7, R8
	ADD  R3, R8, R9
	LSR  $2, R10, R12
	AND  $3, R10, R10
	CLEARSUMS
	CBZ  R12, singles

fours:
	FMOVQ.P 16(R6), F16
	FMOVQ.P 16(R7), F17
	FMOVQ.P 16(R8), F18
	FMOVQ.P 16(R9), F19
	MADDS(0)
	MADDS(1)
	MADDS(2)
	MADDS(3)
	SUBS $1, R12
	BNE  fours

singles:
	CBZ R10, scale

single:
	FMOVS.P 4(R6), F16
	FMOVS.P 4(R7), F17
	FMOVS.P 4(R8), F18
	FMOVS.P 4(R9), F19
	MADDS(0)
	SUBS $1, R10
	BNE  single

scale:
	CBZ   R11, store
	FMOVQ (R11), F16
	TIMES(0, 0, 1, 2, 3)
	TIMES(1, 4, 5, 6, 7)
	TIMES(2, 8, 9, 10, 11)
	TIMES(3, 12, 13, 14, 15)

store:
	STORE16(F0, F1, F2, F3)
	STORE16(F4, F5, F6, F7)
	STORE16(F8, F9, F10, F11)
	STORE16(F12, F13, F14, F15)
	RET

// TURN transposes the 4×4 values of a, b, c and d in place.
#define TURN(a, b, c, d) \
	VTRN1 b.S4, a.S4, V16.S4; \
	VTRN2 b.S4, a.S4, V17.S4; \
	VTRN1 d.S4, c.S4, V18.S4; \
	VTRN2 d.S4, c.S4, V19.S4; \
	VTRN1 V18.D2, V16.D2, a.D2; \
	VTRN1 V19.D2, V17.D2, b.D2; \
	VTRN2 V18.D2, V16.D2, c.D2; \
	VTRN2 V19.D2, V17.D2, d.D2

#define LOADROWS(a, b, c, d) \
	VLD1.P (R6)(R3), [a.S4]; \
	VLD1.P (R6)(R3), [b.S4]; \
	VLD1.P (R6)(R3), [c.S4]; \
	VLD1.P (R6)(R3), [d.S4]

// func transposeStrip(dst *float32, ldd int, src *float32, lds int, cols int)
//
// 16 rows of src, four columns at a time: each becomes 64 bytes of a row of dst.
TEXT ·transposeStrip(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD ldd+8(FP), R1
	MOVD src+16(FP), R2
	MOVD lds+24(FP), R3
	MOVD cols+32(FP), R4
	LSL  $2, R1, R1
	LSL  $2, R3, R3
	LSR  $2, R4, R4

columns:
	MOVD R2, R6
	ADD  $16, R2
	LOADROWS(V0, V1, V2, V3)
	LOADROWS(V4, V5, V6, V7)
	LOADROWS(V8, V9, V10, V11)
	LOADROWS(V12, V13, V14, V15)
	TURN(V0, V1, V2, V3)
	TURN(V4, V5, V6, V7)
	TURN(V8, V9, V10, V11)
	TURN(V12, V13, V14, V15)
	STORE16(F0, F4, F8, F12)
	STORE16(F1, F5, F9, F13)
	STORE16(F2, F6, F10, F14)
	STORE16(F3, F7, F11, F15)
	SUBS $1, R4
	BNE  columns
	RET
