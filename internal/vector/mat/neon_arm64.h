// NEON instructions that Go's assembler has no name for, by the numbers of
// their registers. The order is Go's and so the reverse of Arm's manual: sources
// first, destination last, and of two sources the first is what is subtracted or
// divided by. Behind each is the manual's form.

#define OP3(code, m, n, d) WORD $((code) | (m)<<16 | (n)<<5 | (d))
#define OP2(code, n, d) WORD $((code) | (n)<<5 | (d))
#define OPLANE(code, m, lane, n, d) WORD $((code) | ((lane)&1)<<21 | (m)<<16 | ((lane)>>1)<<11 | (n)<<5 | (d))

// Four float32.
#define FADD4(m, n, d) OP3(0x4E20D400, m, n, d)                     // fadd d.4s, n.4s, m.4s
#define FSUB4(m, n, d) OP3(0x4EA0D400, m, n, d)                     // fsub d.4s, n.4s, m.4s
#define FMUL4(m, n, d) OP3(0x6E20DC00, m, n, d)                     // fmul d.4s, n.4s, m.4s
#define FDIV4(m, n, d) OP3(0x6E20FC00, m, n, d)                     // fdiv d.4s, n.4s, m.4s
#define FMAX4(m, n, d) OP3(0x4E20F400, m, n, d)                     // fmax d.4s, n.4s, m.4s
#define FMIN4(m, n, d) OP3(0x4EA0F400, m, n, d)                     // fmin d.4s, n.4s, m.4s
#define FADDP4(m, n, d) OP3(0x6E20D400, m, n, d)                    // faddp d.4s, n.4s, m.4s
#define FCMGT4(m, n, d) OP3(0x6EA0E400, m, n, d)                    // fcmgt d.4s, n.4s, m.4s
#define FACGE4(m, n, d) OP3(0x6E20EC00, m, n, d)                    // facge d.4s, n.4s, m.4s
#define FMULLANE4(m, lane, n, d) OPLANE(0x4F809000, m, lane, n, d)  // fmul d.4s, n.4s, m.s[lane]
#define FMLALANE4(m, lane, n, d) OPLANE(0x4F801000, m, lane, n, d)  // fmla d.4s, n.4s, m.s[lane]
#define FMAXV4(n, d) OP2(0x6E30F800, n, d)                          // fmaxv sd, n.4s
#define FMINV4(n, d) OP2(0x6EB0F800, n, d)                          // fminv sd, n.4s
#define FCVTNS4(n, d) OP2(0x4E21A800, n, d)                         // fcvtns d.4s, n.4s
#define SCVTF4(n, d) OP2(0x4E21D800, n, d)                          // scvtf d.4s, n.4s

// Two float64.
#define FCVTL(n, d) OP2(0x0E617800, n, d)                           // fcvtl d.2d, n.2s
#define FCVTL2(n, d) OP2(0x4E617800, n, d)                          // fcvtl2 d.2d, n.4s
#define FADD2(m, n, d) OP3(0x4E60D400, m, n, d)                     // fadd d.2d, n.2d, m.2d
#define FADDP2(n, d) OP2(0x7E70D800, n, d)                          // faddp dd, n.2d

// Integers and bits.
#define SDOT(m, lane, n, d) OPLANE(0x4F80E000, m, lane, n, d)       // sdot d.4s, n.16b, m.4b[lane]
#define SMULL(m, n, d) OP3(0x0E20C000, m, n, d)                     // smull d.8h, n.8b, m.8b
#define SMULL2(m, n, d) OP3(0x4E20C000, m, n, d)                    // smull2 d.8h, n.16b, m.16b
#define SADALP(n, d) OP2(0x4E606800, n, d)                          // sadalp d.4s, n.8h
#define MLS4(m, n, d) OP3(0x6EA09400, m, n, d)                      // mls d.4s, n.4s, m.4s
#define SQXTUN(n, d) OP2(0x2E612800, n, d)                          // sqxtun d.4h, n.4s
#define SQXTUN2(n, d) OP2(0x6E612800, n, d)                         // sqxtun2 d.8h, n.4s
#define UQXTN(n, d) OP2(0x2E214800, n, d)                           // uqxtn d.8b, n.8h
#define UQXTN2(n, d) OP2(0x6E214800, n, d)                          // uqxtn2 d.16b, n.8h
#define BIC(m, n, d) OP3(0x4E601C00, m, n, d)                       // bic d.16b, n.16b, m.16b

// CLEARSUMS zeroes V0 to V15, the sums of a tile.
#define CLEAR(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

#define CLEARSUMS \
	CLEAR(V0, V1, V2, V3); \
	CLEAR(V4, V5, V6, V7); \
	CLEAR(V8, V9, V10, V11); \
	CLEAR(V12, V13, V14, V15)
