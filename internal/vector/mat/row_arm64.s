//go:build arm64 && !noasm

#include "textflag.h"
#include "neon_arm64.h"

// func lowHigh(x, by *float32, n int) (low, high float32)
//
// The least and the greatest product of x and by, or zero.
TEXT ·lowHigh(SB), NOSPLIT, $0-32
	MOVD x+0(FP), R0
	MOVD by+8(FP), R1
	MOVD n+16(FP), R2
	LSR  $4, R2, R2
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16

loop:
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R1), [V16.S4, V17.S4, V18.S4, V19.S4]
	FMUL4(16, 4, 4)
	FMUL4(17, 5, 5)
	FMUL4(18, 6, 6)
	FMUL4(19, 7, 7)
	FMIN4(4, 0, 0)
	FMAX4(4, 1, 1)
	FMIN4(5, 2, 2)
	FMAX4(5, 3, 3)
	FMIN4(6, 0, 0)
	FMAX4(6, 1, 1)
	FMIN4(7, 2, 2)
	FMAX4(7, 3, 3)
	SUBS   $1, R2
	BNE    loop
	FMIN4(2, 0, 0)
	FMAX4(3, 1, 1)
	FMINV4(0, 0)
	FMAXV4(1, 1)
	FMOVS  F0, low+24(FP)
	FMOVS  F1, high+28(FP)
	RET

// STEPS makes four values steps: the product is rounded before it is scaled, and
// FCVTNS rounds half to even.
#define STEPS(x, by) \
	FMUL4(by, x, x); \
	FMUL4(24, x, x); \
	FCVTNS4(x, x)

// func steps(q *uint8, x, by *float32, n int, inverse float32, zero int32)
TEXT ·steps(SB), NOSPLIT, $0-40
	MOVD  q+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  by+16(FP), R2
	MOVD  n+24(FP), R3
	FMOVS inverse+32(FP), F24
	MOVW  zero+36(FP), R4
	VDUP  V24.S[0], V24.S4
	VDUP  R4, V25.S4
	LSR   $4, R3, R3

loop:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R2), [V16.S4, V17.S4, V18.S4, V19.S4]
	STEPS(0, 16)
	STEPS(1, 17)
	STEPS(2, 18)
	STEPS(3, 19)
	VADD   V25.S4, V0.S4, V0.S4
	VADD   V25.S4, V1.S4, V1.S4
	VADD   V25.S4, V2.S4, V2.S4
	VADD   V25.S4, V3.S4, V3.S4

	// Both narrowings saturate, which clamps to 0…255.
	SQXTUN(0, 4)
	SQXTUN2(1, 4)
	SQXTUN(2, 5)
	SQXTUN2(3, 5)
	UQXTN(4, 6)
	UQXTN2(5, 6)
	FMOVQ.P F6, 16(R0)
	SUBS    $1, R3
	BNE     loop
	RET

// func normRow(x, gamma, beta *float32, n int, epsilon float64)
//
// The mean is summed in float64 and subtracted as two float32, so that a row far
// from zero keeps its digits; what is left is small and squared as float32.
TEXT ·normRow(SB), NOSPLIT, $0-40
	MOVD  x+0(FP), R0
	MOVD  gamma+8(FP), R1
	MOVD  beta+16(FP), R2
	MOVD  n+24(FP), R3
	LSR   $4, R3, R4
	SCVTFD R3, F30
	VEOR  V0.B16, V0.B16, V0.B16
	VEOR  V1.B16, V1.B16, V1.B16
	VEOR  V2.B16, V2.B16, V2.B16
	VEOR  V3.B16, V3.B16, V3.B16
	VEOR  V20.B16, V20.B16, V20.B16
	VEOR  V21.B16, V21.B16, V21.B16
	VEOR  V22.B16, V22.B16, V22.B16
	VEOR  V23.B16, V23.B16, V23.B16
	MOVD  R0, R5
	MOVD  R4, R6

sum:
	VLD1.P 64(R5), [V4.S4, V5.S4, V6.S4, V7.S4]
	FCVTL(4, 16)
	FCVTL2(4, 17)
	FCVTL(5, 18)
	FCVTL2(5, 19)
	FADD2(16, 0, 0)
	FADD2(17, 1, 1)
	FADD2(18, 2, 2)
	FADD2(19, 3, 3)
	FCVTL(6, 16)
	FCVTL2(6, 17)
	FCVTL(7, 18)
	FCVTL2(7, 19)
	FADD2(16, 0, 0)
	FADD2(17, 1, 1)
	FADD2(18, 2, 2)
	FADD2(19, 3, 3)
	SUBS $1, R6
	BNE  sum
	FADD2(1, 0, 0)
	FADD2(3, 2, 2)
	FADD2(2, 0, 0)
	FADDP2(0, 0)
	FDIVD  F30, F0, F0
	FCVTDS F0, F1
	FCVTSD F1, F2
	FSUBD  F2, F0, F2
	FCVTDS F2, F2
	VDUP   V1.S[0], V16.S4
	VDUP   V2.S[0], V17.S4
	MOVD   R0, R5
	MOVD   R4, R6

square:
	VLD1 (R5), [V4.S4, V5.S4, V6.S4, V7.S4]
	FSUB4(16, 4, 4)
	FSUB4(16, 5, 5)
	FSUB4(16, 6, 6)
	FSUB4(16, 7, 7)
	FSUB4(17, 4, 4)
	FSUB4(17, 5, 5)
	FSUB4(17, 6, 6)
	FSUB4(17, 7, 7)
	VFMLA  V4.S4, V4.S4, V20.S4
	VFMLA  V5.S4, V5.S4, V21.S4
	VFMLA  V6.S4, V6.S4, V22.S4
	VFMLA  V7.S4, V7.S4, V23.S4
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R5)
	SUBS   $1, R6
	BNE    square
	FADD4(21, 20, 20)
	FADD4(23, 22, 22)
	FADD4(22, 20, 20)
	FADDP4(20, 20, 20)
	FADDP4(20, 20, 20)
	FCVTSD F20, F20
	FDIVD  F30, F20, F20
	FMOVD  epsilon+32(FP), F21
	FADDD  F21, F20, F20
	FSQRTD F20, F20
	FMOVD  $1.0, F21
	FDIVD  F20, F21, F20
	FCVTDS F20, F20
	VDUP   V20.S[0], V16.S4

scale:
	VLD1   (R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R1), [V20.S4, V21.S4, V22.S4, V23.S4]
	VLD1.P 64(R2), [V24.S4, V25.S4, V26.S4, V27.S4]
	FMUL4(16, 4, 4)
	FMUL4(16, 5, 5)
	FMUL4(16, 6, 6)
	FMUL4(16, 7, 7)
	VFMLA  V4.S4, V20.S4, V24.S4
	VFMLA  V5.S4, V21.S4, V25.S4
	VFMLA  V6.S4, V22.S4, V26.S4
	VFMLA  V7.S4, V23.S4, V27.S4
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], 64(R0)
	SUBS   $1, R4
	BNE    scale
	RET

// Φ(x) − ½ = x·P(x²)/Q(x²) for |x| < 5.5, with a relative error of 2e-8; beyond
// it is ±½ in float32. Our own minimax fit: P, then Q without its leading 1,
// the highest power first; then 5.5, ½ and the sign bit.
DATA phi<>+0(SB)/4, $2.29303454783e-8
DATA phi<>+4(SB)/4, $6.30085962204e-6
DATA phi<>+8(SB)/4, $0.000164538476246
DATA phi<>+12(SB)/4, $0.00465125811427
DATA phi<>+16(SB)/4, $0.0334559816166
DATA phi<>+20(SB)/4, $0.398942273886
DATA phi<>+24(SB)/4, $1.19895056225e-6
DATA phi<>+28(SB)/4, $7.21531993672e-5
DATA phi<>+32(SB)/4, $0.00186044668212
DATA phi<>+36(SB)/4, $0.0284143483588
DATA phi<>+40(SB)/4, $0.250528113127
DATA phi<>+44(SB)/4, $1.0
DATA phi<>+48(SB)/4, $5.5
DATA phi<>+52(SB)/4, $0.5
DATA phi<>+56(SB)/4, $0x80000000
GLOBL phi<>(SB), RODATA|NOPTR, $60

// HORNER sets next = c + p·f.
#define HORNER(p, f, c, next) \
	VMOV c.B16, next.B16; \
	VFMLA p.S4, f.S4, next.S4

// func geluRow(x *float32, n int)
TEXT ·geluRow(SB), NOSPLIT, $0-16
	MOVD    x+0(FP), R0
	MOVD    n+8(FP), R1
	LSR     $2, R1, R1
	MOVD    $phi<>(SB), R2
	VLD1R.P 4(R2), [V16.S4]
	VLD1R.P 4(R2), [V17.S4]
	VLD1R.P 4(R2), [V18.S4]
	VLD1R.P 4(R2), [V19.S4]
	VLD1R.P 4(R2), [V20.S4]
	VLD1R.P 4(R2), [V21.S4]
	VLD1R.P 4(R2), [V22.S4]
	VLD1R.P 4(R2), [V23.S4]
	VLD1R.P 4(R2), [V24.S4]
	VLD1R.P 4(R2), [V25.S4]
	VLD1R.P 4(R2), [V26.S4]
	VLD1R.P 4(R2), [V27.S4]
	VLD1R.P 4(R2), [V28.S4]
	VLD1R.P 4(R2), [V29.S4]
	VLD1R.P 4(R2), [V30.S4]

loop:
	FMOVQ (R0), F0
	FMUL4(0, 0, 1)
	HORNER(V16, V1, V17, V2)
	HORNER(V22, V1, V23, V4)
	HORNER(V2, V1, V18, V3)
	HORNER(V4, V1, V24, V5)
	HORNER(V3, V1, V19, V2)
	HORNER(V5, V1, V25, V4)
	HORNER(V2, V1, V20, V3)
	HORNER(V4, V1, V26, V5)
	HORNER(V3, V1, V21, V2)
	HORNER(V5, V1, V27, V4)
	FMUL4(0, 2, 2)
	FDIV4(4, 2, 2)

	// Where |x| is not below 5.5, take ½ with the sign of x instead.
	FACGE4(28, 0, 6)
	VMOV    V29.B16, V7.B16
	VBIT    V30.B16, V0.B16, V7.B16
	VBIT    V6.B16, V7.B16, V2.B16
	FADD4(29, 2, 2)
	FMUL4(0, 2, 2)
	FMOVQ.P F2, 16(R0)
	SUBS    $1, R1
	BNE     loop
	RET

// exp(f) = 1 + f + f²·R(f) for |f| ≤ ln 2/2, with an error of 3e-9, our own
// minimax fit: R, the highest power first, and 1; then −87, below which the
// result is no normal float32, 1/ln 2, and ln 2 in two parts of which the first
// is exact when multiplied by a small integer.
DATA exp<>+0(SB)/4, $0.00139505829632
DATA exp<>+4(SB)/4, $0.00836895305824
DATA exp<>+8(SB)/4, $0.0416662043625
DATA exp<>+12(SB)/4, $0.166665183041
DATA exp<>+16(SB)/4, $0.500000009572
DATA exp<>+20(SB)/4, $1.0
DATA exp<>+24(SB)/4, $(-87.0)
DATA exp<>+28(SB)/4, $1.44269504088896
DATA exp<>+32(SB)/4, $0.693359375
DATA exp<>+36(SB)/4, $(-0.000212194440054690)
GLOBL exp<>(SB), RODATA|NOPTR, $40

// func expRow(x *float32, n int, scale float32)
//
// Replaces x by exp(scale·(x−max)). A value below e⁻⁸⁷ becomes zero, and NaN
// stays NaN.
TEXT ·expRow(SB), NOSPLIT, $0-20
	MOVD    x+0(FP), R0
	MOVD    n+8(FP), R1
	FMOVS   scale+16(FP), F31
	VDUP    V31.S[0], V31.S4
	MOVD    $exp<>(SB), R2
	VLD1R.P 4(R2), [V16.S4]
	VLD1R.P 4(R2), [V17.S4]
	VLD1R.P 4(R2), [V18.S4]
	VLD1R.P 4(R2), [V19.S4]
	VLD1R.P 4(R2), [V20.S4]
	VLD1R.P 4(R2), [V21.S4]
	VLD1R.P 4(R2), [V22.S4]
	VLD1R.P 4(R2), [V23.S4]
	VLD1R.P 4(R2), [V24.S4]
	VLD1R.P 4(R2), [V25.S4]
	VLD1    (R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	LSR     $4, R1, R3
	MOVD    R0, R4

top:
	VLD1.P 64(R4), [V4.S4, V5.S4, V6.S4, V7.S4]
	FMAX4(4, 0, 0)
	FMAX4(5, 1, 1)
	FMAX4(6, 2, 2)
	FMAX4(7, 3, 3)
	SUBS   $1, R3
	BNE    top
	FMAX4(1, 0, 0)
	FMAX4(3, 2, 2)
	FMAX4(2, 0, 0)
	FMAXV4(0, 0)
	VDUP   V0.S[0], V30.S4
	LSR    $2, R1, R1

loop:
	FMOVQ (R0), F0
	FSUB4(30, 0, 0)
	FMUL4(31, 0, 0)
	FMUL4(23, 0, 1)
	FCVTNS4(1, 1)
	SCVTF4(1, 2)
	VMOV  V0.B16, V3.B16
	VFMLS V24.S4, V2.S4, V3.S4
	VFMLS V25.S4, V2.S4, V3.S4
	HORNER(V16, V3, V17, V4)
	HORNER(V4, V3, V18, V5)
	HORNER(V5, V3, V19, V4)
	HORNER(V4, V3, V20, V5)
	HORNER(V5, V3, V21, V4)
	HORNER(V4, V3, V21, V5)
	VSHL  $23, V1.S4, V1.S4
	VADD  V1.S4, V5.S4, V5.S4
	FCMGT4(0, 22, 6)
	BIC(6, 5, 5)
	FMOVQ.P F5, 16(R0)
	SUBS    $1, R1
	BNE     loop
	RET

// func sumRow(x *float32, n int) float32
TEXT ·sumRow(SB), NOSPLIT, $0-20
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	LSR  $4, R1, R1
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16

loop:
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	FADD4(4, 0, 0)
	FADD4(5, 1, 1)
	FADD4(6, 2, 2)
	FADD4(7, 3, 3)
	SUBS   $1, R1
	BNE    loop
	FADD4(1, 0, 0)
	FADD4(3, 2, 2)
	FADD4(2, 0, 0)
	FADDP4(0, 0, 0)
	FADDP4(0, 0, 0)
	FMOVS  F0, ret+16(FP)
	RET
