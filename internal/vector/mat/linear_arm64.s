//go:build arm64 && !noasm

#include "textflag.h"
#include "neon_arm64.h"

// Both kernels multiply four rows of activations. They flip the activations' top
// bit, which makes q−128 of an unsigned q, and take 128 off the zero point too:
// the difference of the two is what it was. K is walked in blocks of 16, one
// load of each row, and then in what is left of it by steps of 4.

// ARGUMENTS loads what both take: the four rows of a into R4 to R7, the weights
// into R8, blocks and steps into R9 and R10, and the mask of the flip into V31.
#define ARGUMENTS \
	MOVD c+0(FP), R0; \
	MOVD ldc+8(FP), R1; \
	MOVD a+16(FP), R4; \
	MOVD k+24(FP), R3; \
	MOVD rows+32(FP), R11; \
	MOVD w+40(FP), R8; \
	MOVD scale+48(FP), R12; \
	MOVD sum+56(FP), R13; \
	MOVD bias+64(FP), R14; \
	MOVBU add+72(FP), R15; \
	LSL $2, R1, R1; \
	ADD R3, R4, R5; \
	ADD R3, R5, R6; \
	ADD R3, R6, R7; \
	LSR $4, R3, R9; \
	LSR $2, R3, R10; \
	AND $3, R10, R10; \
	VMOVI $128, V31.B16

#define FLIP \
	VEOR V31.B16, V16.B16, V16.B16; \
	VEOR V31.B16, V17.B16, V17.B16; \
	VEOR V31.B16, V18.B16, V18.B16; \
	VEOR V31.B16, V19.B16, V19.B16

#define LOADBLOCK \
	FMOVQ.P 16(R4), F16; \
	FMOVQ.P 16(R5), F17; \
	FMOVQ.P 16(R6), F18; \
	FMOVQ.P 16(R7), F19; \
	FLIP

#define LOADSTEP \
	FMOVS.P 4(R4), F16; \
	FMOVS.P 4(R5), F17; \
	FMOVS.P 4(R6), F18; \
	FMOVS.P 4(R7), F19; \
	FLIP

// ROW loads the scale and the zero point of the next row into V29 and V28.
#define ROW \
	MOVWU 4(R11), R16; \
	SUBW $128, R16, R16; \
	VDUP R16, V28.S4; \
	VLD1R (R11), [V29.S4]; \
	ADD $8, R11

// SCALED makes four sums of a row what the layer gives, rounding after every
// operation as plain Go does: nothing is fused.
#define SCALED(acc, sum, scale, bias) \
	MLS4(sum, 28, acc); \
	SCVTF4(acc, acc); \
	FMUL4(scale, 29, 30); \
	FMUL4(30, acc, acc); \
	FADD4(bias, acc, acc)

// DOT adds one step of four columns to the sums of the four rows.
#define DOT(lane, w, row0, row1, row2, row3) \
	SDOT(16, lane, w, row0); \
	SDOT(17, lane, w, row1); \
	SDOT(18, lane, w, row2); \
	SDOT(19, lane, w, row3)

#define DOTS(offset, lane) \
	FLDPQ offset(R8), (F20, F21); \
	FLDPQ (offset+32)(R8), (F22, F23); \
	DOT(lane, 20, 0, 4, 8, 12); \
	DOT(lane, 21, 1, 5, 9, 13); \
	DOT(lane, 22, 2, 6, 10, 14); \
	DOT(lane, 23, 3, 7, 11, 15)

#define ADD16(f0, f1, f2, f3, a, b, c, d, skip) \
	CBZ R15, skip; \
	FLDPQ (R0), (F30, F31); \
	FADD4(30, a, a); \
	FADD4(31, b, b); \
	FLDPQ 32(R0), (F30, F31); \
	FADD4(30, c, c); \
	FADD4(31, d, d); \
skip: \
	FSTPQ (f0, f1), (R0); \
	FSTPQ (f2, f3), 32(R0); \
	ADD R1, R0

#define SCALED16(a, b, c, d) \
	ROW; \
	SCALED(a, 16, 20, 24); \
	SCALED(b, 17, 21, 25); \
	SCALED(c, 18, 22, 26); \
	SCALED(d, 19, 23, 27)

// func linearDot(c *float32, ldc int, a *uint8, k int, rows *Row, w *int8, scale *float32, sum *int32, bias *float32, add bool)
//
// Four rows and 16 columns, with SDOT. The sums of row r are V(4r) to V(4r+3).
TEXT ·linearDot(SB), NOSPLIT, $0-73
	ARGUMENTS
	CLEARSUMS
	CBZ R9, steps

block:
	LOADBLOCK
	DOTS(0, 0)
	DOTS(128, 1)
	DOTS(256, 2)
	DOTS(384, 3)
	ADD  $512, R8
	SUBS $1, R9
	BNE  block

steps:
	CBZ R10, finish

step:
	LOADSTEP
	DOTS(0, 0)
	ADD  $128, R8
	SUBS $1, R10
	BNE  step

finish:
	VLD1 (R13), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1 (R12), [V20.S4, V21.S4, V22.S4, V23.S4]
	VLD1 (R14), [V24.S4, V25.S4, V26.S4, V27.S4]
	SCALED16(0, 1, 2, 3)
	ADD16(F0, F1, F2, F3, 0, 1, 2, 3, store0)
	SCALED16(4, 5, 6, 7)
	ADD16(F4, F5, F6, F7, 4, 5, 6, 7, store1)
	SCALED16(8, 9, 10, 11)
	ADD16(F8, F9, F10, F11, 8, 9, 10, 11, store2)
	SCALED16(12, 13, 14, 15)
	ADD16(F12, F13, F14, F15, 12, 13, 14, 15, store3)
	RET

// PAIRS adds one step of a row, which V24 repeats four times, to its sums: the
// products of two columns, which fit 16 bits, then neighbours of them to 32.
#define PAIRS(r, lane, s0, s1, s2, s3) \
	VDUP r.S[lane], V24.S4; \
	SMULL(24, 20, 25); \
	SMULL2(24, 20, 26); \
	SMULL(24, 21, 27); \
	SMULL2(24, 21, 28); \
	SADALP(25, s0); \
	SADALP(26, s1); \
	SADALP(27, s2); \
	SADALP(28, s3)

#define PAIRED(offset, lane) \
	FLDPQ offset(R8), (F20, F21); \
	PAIRS(V16, lane, 0, 1, 2, 3); \
	PAIRS(V17, lane, 4, 5, 6, 7); \
	PAIRS(V18, lane, 8, 9, 10, 11); \
	PAIRS(V19, lane, 12, 13, 14, 15)

#define ADD8(f0, f1, a, b, skip) \
	CBZ R15, skip; \
	FLDPQ (R0), (F30, F31); \
	FADD4(30, a, a); \
	FADD4(31, b, b); \
skip: \
	FSTPQ (f0, f1), (R0); \
	ADD R1, R0

#define SCALED8(a, b) \
	ROW; \
	SCALED(a, 16, 20, 24); \
	SCALED(b, 17, 21, 25)

// func linearPairs(c *float32, ldc int, a *uint8, k int, rows *Row, w *int8, scale *float32, sum *int32, bias *float32, add bool)
//
// Four rows and 8 columns, with what every arm64 has. A column's sum is in two
// neighbouring lanes until the end; those of row r are V(4r) to V(4r+3).
TEXT ·linearPairs(SB), NOSPLIT, $0-73
	ARGUMENTS
	CLEARSUMS
	CBZ R9, steps

block:
	LOADBLOCK
	PAIRED(0, 0)
	PAIRED(128, 1)
	PAIRED(256, 2)
	PAIRED(384, 3)
	ADD  $512, R8
	SUBS $1, R9
	BNE  block

steps:
	CBZ R10, finish

step:
	LOADSTEP
	PAIRED(0, 0)
	ADD  $128, R8
	SUBS $1, R10
	BNE  step

finish:
	VADDP V1.S4, V0.S4, V0.S4
	VADDP V3.S4, V2.S4, V1.S4
	VADDP V5.S4, V4.S4, V4.S4
	VADDP V7.S4, V6.S4, V5.S4
	VADDP V9.S4, V8.S4, V8.S4
	VADDP V11.S4, V10.S4, V9.S4
	VADDP V13.S4, V12.S4, V12.S4
	VADDP V15.S4, V14.S4, V13.S4
	VLD1  (R13), [V16.S4, V17.S4]
	VLD1  (R12), [V20.S4, V21.S4]
	VLD1  (R14), [V24.S4, V25.S4]
	SCALED8(0, 1)
	ADD8(F0, F1, 0, 1, store0)
	SCALED8(4, 5)
	ADD8(F4, F5, 4, 5, store1)
	SCALED8(8, 9)
	ADD8(F8, F9, 8, 9, store2)
	SCALED8(12, 13)
	ADD8(F12, F13, 12, 13, store3)
	RET
