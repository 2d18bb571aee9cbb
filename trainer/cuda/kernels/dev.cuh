// What all kernels share: types, the element type of a build, Philox, sums of a
// warp and of a block. Nothing is included: NVRTC has no headers.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define DEV __device__ __forceinline__
#define KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__) // threads of a block, blocks of a multiprocessor
#define UNROLL _Pragma("unroll")

// elem is the type of weights and activations while computing: float with
// DT_F32, the bits of a bfloat16 or of a half with DT_BF16 and DT_F16.
#if defined(DT_F32)
typedef float elem;
DEV float value(elem v) { return v; }
DEV elem rounded(float v) { return v; }
#elif defined(DT_BF16)
typedef u16 elem;
DEV float value(elem v) { return __uint_as_float((u32)v << 16); }
DEV elem rounded(float v) { u16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v)); return r; }
DEV u32 pack2(float lo, float hi) { u32 r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo)); return r; }
#elif defined(DT_F16)
typedef u16 elem;
DEV float value(elem v) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v)); return r; }
DEV elem rounded(float v) { u16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v)); return r; }
DEV u32 pack2(float lo, float hi) { u32 r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo)); return r; }
#else
#error "one of DT_F32, DT_BF16 and DT_F16 must be defined"
#endif

// load4 and store4 move four elements at a place that is a multiple of four.
#ifdef DT_F32
DEV void load4(float* v, const elem* p) {
  float4 x = *(const float4*)p;
  v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}
DEV void store4(elem* p, const float* v) { *(float4*)p = make_float4(v[0], v[1], v[2], v[3]); }
#else
DEV void load4(float* v, const elem* p) {
  uint2 x = *(const uint2*)p;
  v[0] = value((elem)x.x), v[1] = value((elem)(x.x >> 16)), v[2] = value((elem)x.y), v[3] = value((elem)(x.y >> 16));
}
DEV void store4(elem* p, const float* v) { *(uint2*)p = make_uint2(pack2(v[0], v[1]), pack2(v[2], v[3])); }
#endif

// load16 and store16 do the same for a run of 16, in pieces of 16 bytes.
#ifdef DT_F32
DEV void load16(float* v, const elem* p) {
  UNROLL
  for (int i = 0; i < 16; i += 4) load4(v + i, p + i);
}
DEV void store16(elem* p, const float* v) {
  UNROLL
  for (int i = 0; i < 16; i += 4) store4(p + i, v + i);
}
#else
DEV void unpack2(float* v, u32 x) { v[0] = value((elem)x), v[1] = value((elem)(x >> 16)); }
DEV void load16(float* v, const elem* p) {
  UNROLL
  for (int i = 0; i < 16; i += 8) {
    uint4 x = *(const uint4*)(p + i);
    unpack2(v + i, x.x), unpack2(v + i + 2, x.y), unpack2(v + i + 4, x.z), unpack2(v + i + 6, x.w);
  }
}
DEV void store16(elem* p, const float* v) {
  UNROLL
  for (int i = 0; i < 16; i += 8) {
    *(uint4*)(p + i) = make_uint4(pack2(v[i], v[i + 1]), pack2(v[i + 2], v[i + 3]), pack2(v[i + 4], v[i + 5]), pack2(v[i + 6], v[i + 7]));
  }
}
#endif

// load8 does the same for eight.
DEV void load8(float* v, const elem* p) {
#ifdef DT_F32
  load4(v, p), load4(v + 4, p + 4);
#else
  uint4 x = *(const uint4*)p;
  unpack2(v, x.x), unpack2(v + 2, x.y), unpack2(v + 4, x.z), unpack2(v + 6, x.w);
#endif
}

// Dropout says what is dropped: trainer/dropout is the definition, a golden table
// there holds both. keep of 256 values of a byte are kept; 256: nothing is dropped.
struct Dropout {
  u64 seed;
  u32 site, keep;
  float scale; // 256 / keep
};

// philox is one block of Philox4x32-10.
DEV uint4 philox(u64 key, u32 c0, u32 c1, u32 c2, u32 c3) {
  u32 k0 = (u32)key, k1 = (u32)(key >> 32);
  UNROLL
  for (int i = 0; i < 10; i++) {
    u32 h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
    u32 h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return make_uint4(c0, c1, c2, c3);
}

// random is the block of a place in the sequence at a global position.
DEV uint4 random(Dropout d, i64 position, u32 place) {
  return philox(d.seed, (u32)position, (u32)((u64)position >> 32), d.site, place);
}

// byte_of returns byte i of a block.
DEV u32 byte_of(uint4 r, int i) {
  u32 w = i < 8 ? (i < 4 ? r.x : r.y) : (i < 12 ? r.z : r.w);
  return w >> (8 * (i & 3)) & 255;
}

// drop16 drops a run of 16 flat elements of a sequence, the first of which is a
// multiple of 16.
DEV void drop16(float* v, Dropout d, i64 position, u32 first) {
  if (d.keep >= 256) return;
  uint4 r = random(d, position, first / 16);
  UNROLL
  for (int i = 0; i < 16; i++) v[i] = byte_of(r, i) < d.keep ? v[i] * d.scale : 0.f;
}

DEV float warp_sum(float v) {
  UNROLL
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}

DEV float warp_max(float v) {
  UNROLL
  for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
  return v;
}

// block_sum adds up a value of every thread; all get the sum. scratch holds a
// float a warp. Every thread of the block must call it.
DEV float block_sum(float v, float* scratch) {
  v = warp_sum(v);
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
  __syncthreads(); // sums of the warps are written
  float t = 0;
  for (int i = 0; i < blockDim.x / 32; i++) t += scratch[i];
  __syncthreads(); // scratch may be used again
  return t;
}

// ---- GELU and its derivative

DEV float gelu(float x, bool tanh_form) {
  if (tanh_form) return 0.5f * x * (1.f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
  return 0.5f * x * (1.f + erff(x * 0.7071067811865476f));
}

DEV float gelu_slope(float x, bool tanh_form) {
  if (tanh_form) {
    float t = tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x));
    return 0.5f * (1.f + t) + 0.5f * x * (1.f - t * t) * 0.7978845608028654f * (1.f + 3 * 0.044715f * x * x);
  }
  return 0.5f * (1.f + erff(x * 0.7071067811865476f)) + x * 0.3989422804014327f * expf(-0.5f * x * x);
}

// ---- rows of LayerNorm
//
// A warp has a row of width h, a multiple of 64 and at most 1024. A lane owns runs of 16
// elements, the unit of a Philox block: run k·32 + lane of the row, for k below RUNS.

#define RUNS 2

// Rows says where the rows of a matrix lie in the batch.
struct Rows {
  const int* sequence;    // (rows) sequence of each
  const int* cu;          // (S+1) first row of each sequence
  const i64* position;    // (S) global position of each sequence
  const int* selected;    // (n) row of the batch of each row here; null: the same
  int n;
};

// drop_run drops out run `run` of row `row` of width h.
DEV void drop_run(float* v, Dropout d, Rows rows, int row, int run, int h) {
  if (d.keep >= 256) return;
  int at = rows.selected ? rows.selected[row] : row, s = rows.sequence[at];
  drop16(v, d, rows.position[s], (u32)(at - rows.cu[s]) * h + run * 16);
}

// normalize turns the runs of a row into standardized values and returns 1/σ.
DEV float normalize(float (*v)[16], int h, float eps) {
  int lane = threadIdx.x & 31;
  float sum = 0, squares = 0;
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    UNROLL
    for (int i = 0; i < 16; i++) sum += v[k][i];
  }
  float mean = warp_sum(sum) / h;
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    if ((k * 32 + lane) * 16 < h) {
      UNROLL
      for (int i = 0; i < 16; i++) v[k][i] -= mean, squares += v[k][i] * v[k][i];
    }
  }
  float inverse = 1.f / sqrtf(warp_sum(squares) / h + eps);
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    UNROLL
    for (int i = 0; i < 16; i++) v[k][i] *= inverse;
  }
  return inverse;
}
