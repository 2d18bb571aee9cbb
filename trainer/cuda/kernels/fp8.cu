// 8-bit operands of matrix products: E4M3 for activations and weights, E5M2 for gradients
// (OCP 8-bit Floating Point Specification, revision 1.0), with a factor for each tensor.
// Only bfloat16 becomes 8 bits. The conversions need compute capability 8.9.
#include "dev.cuh"

#define THREADS 256
#define TILE 64   // rows and columns of a block's tile
#define PITCH 80  // bytes from a row of the tile to the next: a multiple of 16
#define HISTORY 16

// The largest numbers of the formats, 1.75·2^8 and 1.75·2^15.
#define E4M3_MAX 448.f
#define E5M2_MAX 57344.f

struct E4M3 {
  static DEV float most() { return E4M3_MAX; }
  static DEV int exponent() { return 8; }
  static DEV u32 pair(float lo, float hi) { u16 r; asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(hi), "f"(lo)); return r; }
};

struct E5M2 {
  static DEV float most() { return E5M2_MAX; }
  static DEV int exponent() { return 15; }
  static DEV u32 pair(float lo, float hi) { u16 r; asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(hi), "f"(lo)); return r; }
};

// factor_for returns the largest power of two by which amax stays in the format: a factor
// and its inverse are exact. 1 for an amax that is 0 or not finite.
DEV float factor_for(float amax, int exponent) {
  if (!(amax > 0 && amax <= 3.3e38f)) return 1.f;
  u32 bits = __float_as_uint(amax);
  int e = exponent - ((int)(bits >> 23) - 127) - ((bits & 0x7fffff) > 0x600000 ? 1 : 0);
  return __uint_as_float((u32)(min(e, 126) + 127) << 23);
}

// raise makes *amax at least v, which is not negative.
DEV void raise(float* amax, float v) {
  v = warp_max(v);
  if ((threadIdx.x & 31) == 0 && v > 0) atomicMax((int*)amax, __float_as_int(v));
}

// amax = the largest |x| of n elements, a multiple of 16, and what it was. An infinity
// counts, NaN does not.
KERNEL(THREADS) fp8_amax(float* amax, const elem* x, i64 n) {
  i64 at = ((i64)blockIdx.x * THREADS + threadIdx.x) * 16;
  float most = 0;
  if (at < n) {
    float v[16];
    load16(v, x + at);
    UNROLL
    for (int i = 0; i < 16; i++) most = fmaxf(most, fabsf(v[i]));
  }
  raise(amax, most);
}

// A block converts a tile of x (rows, width), both multiples of 16, to q (rows, width) and
// its transpose to qt (width, rows); either may be null. The factor is that of *from, and
// *inverse its inverse. amax, unless null, is raised to the largest |x|, and saturated
// counts the elements that the format could not hold; the rows from real on pad the batch and
// have no part in both. What is not finite becomes NaN, so that it is not lost.
template <typename F> DEV void quantize(u8* q, u8* qt, const elem* x, const float* from, float* inverse, float* amax, u32* saturated, int rows, int width, int real) {
  __shared__ __align__(16) u8 tile[TILE * PITCH];
  float factor = factor_for(*from, F::exponent());
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *inverse = 1.f / factor;
  int row = blockIdx.y * TILE + threadIdx.x / 4, column = blockIdx.x * TILE + threadIdx.x % 4 * 16;
  bool in = row < rows && column < width;
  float most = 0;
  int lost = 0;
  if (in) {
    float v[16];
    u32 w[4];
    load16(v, x + (i64)row * width + column);
    UNROLL
    for (int i = 0; i < 16; i++) {
      float size = fabsf(v[i]), y = v[i] * factor;
      most = fmaxf(most, size);
      lost += fabsf(y) > F::most();
      v[i] = size <= 3.4e38f ? y : __uint_as_float(0x7fffffff);
    }
    UNROLL
    for (int i = 0; i < 4; i++) w[i] = F::pair(v[4 * i], v[4 * i + 1]) | F::pair(v[4 * i + 2], v[4 * i + 3]) << 16;
    uint4 all = make_uint4(w[0], w[1], w[2], w[3]);
    if (q) *(uint4*)(q + (i64)row * width + column) = all;
    *(uint4*)(tile + threadIdx.x / 4 * PITCH + threadIdx.x % 4 * 16) = all;
  }
  if (row >= real) most = 0, lost = 0;
  if (amax) {
    raise(amax, most);
    if (lost) atomicAdd(saturated, (u32)lost);
  }
  if (!qt) return;
  __syncthreads(); // the tile is written
  row = blockIdx.y * TILE + threadIdx.x % 4 * 16, column = blockIdx.x * TILE + threadIdx.x / 4;
  if (row >= rows || column >= width) return;
  const u8* from_tile = tile + threadIdx.x % 4 * 16 * PITCH + threadIdx.x / 4;
  u32 w[4];
  UNROLL
  for (int i = 0; i < 4; i++) {
    const u8* p = from_tile + 4 * i * PITCH;
    w[i] = p[0] | p[PITCH] << 8 | p[2 * PITCH] << 16 | (u32)p[3 * PITCH] << 24;
  }
  *(uint4*)(qt + (i64)column * rows + row) = make_uint4(w[0], w[1], w[2], w[3]);
}

KERNEL(THREADS) fp8_e4m3(u8* q, u8* qt, const elem* x, const float* from, float* inverse, float* amax, u32* saturated, int rows, int width, int real) {
  quantize<E4M3>(q, qt, x, from, inverse, amax, saturated, rows, width, real);
}

KERNEL(THREADS) fp8_e5m2(u8* q, u8* qt, const elem* x, const float* from, float* inverse, float* amax, u32* saturated, int rows, int width, int real) {
  quantize<E5M2>(q, qt, x, from, inverse, amax, saturated, rows, width, real);
}

// The end of a step: place slot of history (n, HISTORY) becomes the largest of seen (ranks,
// n), 0 where that is not finite, and from (n) the largest of the history.
KERNEL(THREADS) fp8_roll(float* from, float* history, const float* seen, int n, int ranks, int slot) {
  int t = blockIdx.x * THREADS + threadIdx.x;
  if (t >= n) return;
  float m = 0;
  for (int r = 0; r < ranks; r++) m = fmaxf(m, seen[(i64)r * n + t]);
  float* own = history + (i64)t * HISTORY;
  own[slot] = m <= 3.3e38f ? m : 0.f;
  m = 0;
  UNROLL
  for (int i = 0; i < HISTORY; i++) m = fmaxf(m, own[i]);
  from[t] = m;
}
