// Attention of sequences of any length on tensor cores, in the manner of
// FlashAttention 2: scores of 64 queries and 64 keys at a time, never the whole
// matrix. What it computes, its arguments and the dropout are those of
// attention.cu, which is its oracle; 16-bit types only. flash_local_* are the same
// kernels with a window: a query attends to keys at most `reach` away, and tiles
// that no query of a block reaches are not read.
//
// A block is four warps and 64 rows: a warp has 16 of them. Grids are (rows of
// the longest sequence / 64, A, S). Rows of a tile in shared memory are LD long,
// so that eight of them begin in different banks. Tiles that are copied or read by
// matrices are named by their address in shared memory: what a lane adds to it is the
// same in every tile, so that it is computed once, and the rest is a constant of the
// instruction.
#include "dev.cuh"

#define D 64     // size of a head
#define TILE 64  // rows of a tile
#define LD 72    // elements from one row of a tile to the next
#define BYTES (TILE * LD * 2) // of a tile
#define THREADS 128
#define FORWARD_BLOCKS 4  // of the forward pass on a multiprocessor: at most 128 registers
#define BACKWARD_BLOCKS 3 // of the backward passes: at most 168
#define LOG2E 1.44269504088896341f
#define LN2 0.693147180559945309f

#ifdef DT_BF16
#define MMA_TYPES "bf16.bf16"
#else
#define MMA_TYPES "f16.f16"
#endif

// ---- instructions of one line

DEV u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
DEV void copy_async(u32 to, const void* from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory"); }
DEV void copies_done() { asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory"); }
DEV void load_matrices(u32* r, u32 from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
DEV void load_transposed(u32* r, u32 from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
DEV void mma(float* c, const u32* a, const u32* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPES ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEV float exp2_fast(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
DEV void store2(elem* p, float lo, float hi) { *(u32*)p = pack2(lo, hi); }

// ---- tiles
//
// Sixteen rows of 64 columns are c[8][4] in the lanes of a warp: group j of eight
// columns, and in it rows lane/4 and lane/4+8, columns lane%4·2 and the next. The
// same rows as the left side of a product are a[4][4], 16 columns each.

DEV void clear(float (*c)[4]) {
  UNROLL
  for (int j = 0; j < 8; j++) c[j][0] = c[j][1] = c[j][2] = c[j][3] = 0;
}

// fetch begins to copy rows r0 … r0+63 of a matrix with a stride into a tile: a thread
// 16 bytes of every 16th row. Past the end the last row stands again; its scores are
// masked later.
DEV void fetch(u32 tile, const elem* p, int stride, int r0, int n) {
  int r = threadIdx.x / 8, c = threadIdx.x % 8 * 8;
  UNROLL
  for (int i = 0; i < TILE; i += THREADS / 8) copy_async(tile + ((r + i) * LD + c) * 2, p + c + (i64)min(r0 + r + i, n - 1) * stride);
}

// left loads 16 rows of a tile as the left side of a product.
DEV void left(u32 (*a)[4], u32 rows) {
  int lane = threadIdx.x & 31;
  UNROLL
  for (int k = 0; k < 4; k++) load_matrices(a[k], rows + ((lane & 15) * LD + k * 16 + (lane >> 4) * 8) * 2);
}

// left_transposed loads 16 columns of a tile as its 16 rows.
DEV void left_transposed(u32 (*a)[4], u32 columns) {
  int lane = threadIdx.x & 31;
  UNROLL
  for (int k = 0; k < 4; k++) load_transposed(a[k], columns + ((k * 16 + (lane & 7) + (lane >> 4) * 8) * LD + (lane >> 3 & 1) * 8) * 2);
}

// as_left rounds sums to the left side of a product.
DEV void as_left(u32 (*a)[4], float (*c)[4]) {
  UNROLL
  for (int k = 0; k < 4; k++) {
    a[k][0] = pack2(c[2 * k][0], c[2 * k][1]);
    a[k][1] = pack2(c[2 * k][2], c[2 * k][3]);
    a[k][2] = pack2(c[2 * k + 1][0], c[2 * k + 1][1]);
    a[k][3] = pack2(c[2 * k + 1][2], c[2 * k + 1][3]);
  }
}

// multiply_transposed adds a · tileᵀ to c.
DEV void multiply_transposed(float (*c)[4], const u32 (*a)[4], u32 tile) {
  int lane = threadIdx.x & 31;
  UNROLL
  for (int j = 0; j < 4; j++) {
    UNROLL
    for (int k = 0; k < 4; k++) {
      u32 b[4];
      load_matrices(b, tile + ((j * 16 + (lane & 7) + (lane >> 4) * 8) * LD + k * 16 + (lane >> 3 & 1) * 8) * 2);
      mma(c[2 * j], a[k], b);
      mma(c[2 * j + 1], a[k], b + 2);
    }
  }
}

// multiply adds a · tile to c.
DEV void multiply(float (*c)[4], const u32 (*a)[4], u32 tile) {
  int lane = threadIdx.x & 31;
  UNROLL
  for (int k = 0; k < 4; k++) {
    UNROLL
    for (int j = 0; j < 4; j++) {
      u32 b[4];
      load_transposed(b, tile + ((k * 16 + (lane & 15)) * LD + j * 16 + (lane >> 4) * 8) * 2);
      mma(c[2 * j], a[k], b);
      mma(c[2 * j + 1], a[k], b + 2);
    }
  }
}

// ---- sequences and dropout

// Batch is the sequences of a batch, as in attention.cu.
struct Batch {
  const int* cu;       // (S+1) first token of each sequence
  const int* visible;  // (S) tokens that are attended to; null: all
  const i64* position; // (S) global positions
  int tokens, heads;   // T, A
};

// A Head is one head of one sequence.
struct Head {
  int first, n, keys, number; // first token, tokens, tokens that are attended to, head
  int stride;                 // elements from one token of qkv to the next
  i64 position;               // global position
  const elem *q, *k, *v;      // of the first token
  i64 at;                     // of the first token in lse and delta
};

DEV Head head_of_block(Batch b, const elem* qkv) {
  Head h;
  int s = blockIdx.z;
  h.number = blockIdx.y;
  h.first = b.cu[s];
  h.n = b.cu[s + 1] - h.first;
  h.keys = b.visible ? b.visible[s] : h.n;
  h.position = b.position[s];
  h.stride = 3 * b.heads * D;
  h.q = qkv + (i64)h.first * h.stride + h.number * D;
  h.k = h.q + b.heads * D;
  h.v = h.k + b.heads * D;
  h.at = (i64)h.number * b.tokens + h.first;
  return h;
}

// bytes_of are the random bytes of 16 queries and 32 keys.
DEV uint4 bytes_of(Dropout d, const Head& h, int r0, int k0) {
  return random(d, h.position, (u32)(threadIdx.x & 31) | (u32)(k0 / 32) << 5 | (u32)(r0 / 16) << 14 | (u32)h.number << 24);
}

// below sets the highest bit of each byte of x that is below keep, which is not 256;
// the other bits are of no use. The lower seven bits of a byte are not below those of
// keep if adding 128 less keep's carries into the highest; with that, the byte is not
// below if two of three are set: its own highest bit, that one, and the complement of
// keep's.
DEV u32 below(u32 x, u32 keep) {
  u32 carry = (x & 0x7f7f7f7fu) + (128 - (keep & 127)) * 0x01010101u, low = keep < 128 ? ~0u : 0u;
  return ~(x & carry | x & low | carry & low);
}

// kept_of says which of 16 queries and 64 keys are kept: bit 8·i+7−j is that of c[j][i].
DEV u32 kept_of(Dropout d, const Head& h, int r0, int k0) {
  u32 kept = 0;
  if (d.keep >= 256) return kept;
  UNROLL
  for (int half = 0; half < 2; half++) {
    uint4 r = bytes_of(d, h, r0, k0 + 32 * half);
    UNROLL
    for (int j = 0; j < 4; j++) kept |= (below(j == 0 ? r.x : j == 1 ? r.y : j == 2 ? r.z : r.w, d.keep) & 0x80808080u) >> (4 * half + j);
  }
  return kept;
}

// drop drops of sums, without the scale.
DEV void drop(float (*c)[4], Dropout d, u32 kept) {
  if (d.keep >= 256) return;
  UNROLL
  for (int j = 0; j < 8; j++) {
    UNROLL
    for (int i = 0; i < 4; i++) {
      if (!(kept & 0x80u << 8 * i >> j)) c[j][i] = 0;
    }
  }
}

// both makes 16 bits of the highest bits of each of two bytes of x: of the first two or
// of the last two.
DEV u32 both(u32 x, int last) { u32 r; asm("prmt.b32 %0, %1, %1, %2;" : "=r"(r) : "r"(x), "r"(last ? 0xbbaa : 0x9988)); return r; }

// drop_left drops of the left side of a product, without the scale.
DEV void drop_left(u32 (*a)[4], Dropout d, const Head& h, int r0, int k0) {
  if (d.keep >= 256) return;
  UNROLL
  for (int half = 0; half < 2; half++) {
    uint4 r = bytes_of(d, h, r0, k0 + 32 * half);
    UNROLL
    for (int j = 0; j < 4; j++) {
      u32 kept = below(j == 0 ? r.x : j == 1 ? r.y : j == 2 ? r.z : r.w, d.keep), *to = a[2 * half + j / 2] + j % 2 * 2;
      to[0] &= both(kept, 0), to[1] &= both(kept, 1);
    }
  }
}

// scale_of is what is kept is multiplied by: after all sums, once.
DEV float scale_of(Dropout d) { return d.keep < 256 ? d.scale : 1.f; }

// ---- keys that are not attended to

#define NONE -1e29f   // below every score
#define HIDDEN -1e30f // the score of what is not attended to: nothing even beside NONE

// hide_past hides the keys behind the last that is attended to, of 64.
DEV void hide_past(float (*s)[4], int k0, int keys) {
  if (k0 + TILE <= keys) return;
  int column = k0 + (threadIdx.x & 3) * 2;
  UNROLL
  for (int j = 0; j < 8; j++) {
    UNROLL
    for (int i = 0; i < 4; i++) {
      if (column + j * 8 + (i & 1) >= keys) s[j][i] = HIDDEN;
    }
  }
}

// Reached are the rows of the other side that 64 rows from r0 on reach, of n: from is
// the first row of a tile. All of them without a window.
struct Reached { int from, end; };

template <bool LOCAL> DEV Reached reached(int r0, int n, int reach) {
  if (!LOCAL) return Reached{0, n};
  return Reached{max(0, r0 - reach) / TILE * TILE, min(n, r0 + TILE + reach)};
}

// hide hides those of 16 queries and 64 keys that are farther apart than reach.
DEV void hide(float (*s)[4], int r0, int k0, int reach) {
  if (r0 + 15 - k0 <= reach && k0 + TILE - 1 - r0 <= reach) return; // no edge of the band is here
  int lane = threadIdx.x & 31, place = r0 + (lane >> 2) - k0 - (lane & 3) * 2 + reach; // in the window, from its end
  UNROLL
  for (int j = 0; j < 8; j++) {
    UNROLL
    for (int i = 0; i < 4; i++) {
      if ((u32)(place + i / 2 * 8 - j * 8 - (i & 1)) > 2u * reach) s[j][i] = HIDDEN;
    }
  }
}

// ---- kernels

// out and lse of attention_forward. Keys and values are copied a tile ahead. A sum
// and its out are relative to 2^top: top is the greatest score so far, times the
// scale, rounded once, so that the error of rounding is the same in all of them.
template <bool LOCAL> DEV void forward(elem* out, float* lse, const elem* qkv, Batch b, Dropout d, float scale, int reach) {
  __shared__ __align__(16) elem tiles[4 * TILE * LD];
  Head h = head_of_block(b, qkv);
  int m0 = blockIdx.x * TILE;
  if (m0 >= h.n) return;
  int w = threadIdx.x >> 5, lane = threadIdx.x & 31, r0 = m0 + w * 16, row = lane >> 2, column = (lane & 3) * 2;
  u32 keys = shared_address(tiles), ends = 2 * keys + 2 * BYTES; // of keys and values: less one pair's address, it is the other's
  Reached keys_of = reached<LOCAL>(m0, h.keys, reach);
  fetch(ends - keys, h.q, h.stride, m0, h.n);
  fetch(keys, h.k, h.stride, keys_of.from, h.keys);
  fetch(keys + BYTES, h.v, h.stride, keys_of.from, h.keys);
  u32 q[4][4];
  copies_done();
  __syncthreads(); // queries are whole
  left(q, ends - keys + w * 16 * LD * 2);
  float o[8][4], scale2 = scale * LOG2E, top[2] = {NONE * scale2, NONE * scale2}, sum[2] = {0, 0};
  clear(o);
  for (int k0 = keys_of.from; k0 < keys_of.end; k0 += TILE) {
    copies_done();
    __syncthreads(); // tiles are whole, and nobody reads those before them
    if (k0 + TILE < keys_of.end) {
      fetch(ends - keys, h.k, h.stride, k0 + TILE, h.keys);
      fetch(ends - keys + BYTES, h.v, h.stride, k0 + TILE, h.keys);
    }
    float s[8][4];
    clear(s);
    multiply_transposed(s, q, keys);
    hide_past(s, k0, h.keys);
    if (LOCAL) hide(s, r0, k0, reach);
    UNROLL
    for (int half = 0; half < 2; half++) {
      float most = NONE, l = 0;
      UNROLL
      for (int j = 0; j < 8; j++) most = fmaxf(most, fmaxf(s[j][2 * half], s[j][2 * half + 1]));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1)); // the four lanes of a row
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
      float now = fmaxf(top[half], most * scale2), old = exp2_fast(top[half] - now);
      top[half] = now;
      UNROLL
      for (int j = 0; j < 8; j++) {
        UNROLL
        for (int i = 2 * half; i < 2 * half + 2; i++) {
          s[j][i] = exp2_fast(s[j][i] * scale2 - now);
          l += s[j][i];
          o[j][i] *= old;
        }
      }
      sum[half] = sum[half] * old + l;
    }
    u32 p[4][4];
    as_left(p, s);
    drop_left(p, d, h, r0, k0);
    multiply(o, p, keys + BYTES);
    keys = ends - keys;
  }
  UNROLL
  for (int half = 0; half < 2; half++) {
    float l = sum[half];
    l += __shfl_xor_sync(0xffffffffu, l, 1);
    l += __shfl_xor_sync(0xffffffffu, l, 2);
    int r = r0 + row + 8 * half;
    if (r >= h.n) continue;
    elem* to = out + ((i64)(h.first + r) * b.heads + h.number) * D + column;
    float factor = scale_of(d) / l;
    UNROLL
    for (int j = 0; j < 8; j++) store2(to + j * 8, o[j][2 * half] * factor, o[j][2 * half + 1] * factor);
    if ((lane & 3) == 0) lse[h.at + r] = top[half] * LN2 + logf(l);
  }
}

KERNEL(THREADS, FORWARD_BLOCKS) flash_forward(elem* out, float* lse, const elem* qkv, Batch b, Dropout d, float scale) {
  forward<false>(out, lse, qkv, b, d, scale, 0);
}

KERNEL(THREADS, FORWARD_BLOCKS) flash_local_forward(elem* out, float* lse, const elem* qkv, Batch b, Dropout d, float scale, int reach) {
  forward<true>(out, lse, qkv, b, d, scale, reach);
}

// gradients turns the scores s of 16 queries and 64 keys into P, and dp, which is
// dout·vᵀ, into dS = P·(drop(dp) − delta)·scale. Both are 0 for queries past the end.
// It returns what dropout keeps of P.
DEV u32 gradients(float (*s)[4], float (*dp)[4], const Head& h, const float* lse, const float* delta, Dropout d, float scale, int r0, int k0) {
  int row = (threadIdx.x & 31) >> 2;
  u32 kept = kept_of(d, h, r0, k0);
  drop(dp, d, kept);
  float scale2 = scale * LOG2E, factor = scale * scale_of(d);
  UNROLL
  for (int half = 0; half < 2; half++) {
    int r = r0 + row + 8 * half;
    bool in = r < h.n;
    float l = in ? lse[h.at + r] * LOG2E : -HIDDEN, de = in ? delta[h.at + r] * scale : 0.f;
    UNROLL
    for (int j = 0; j < 8; j++) {
      UNROLL
      for (int i = 2 * half; i < 2 * half + 2; i++) {
        s[j][i] = exp2_fast(s[j][i] * scale2 - l);
        dp[j][i] = s[j][i] * (dp[j][i] * factor - de);
      }
    }
  }
  return kept;
}

// backward_keys computes dk and dv of 64 keys, over all queries. It takes six tiles
// of dynamic shared memory, kernels.FlashShared bytes, more than a launch gets
// without opt-in. With ADD it adds
// dq to a buffer in single precision by atomics, in any order: five products
// instead of seven.
template <bool ADD, bool LOCAL> DEV void backward_keys(elem* dqkv, float* dq, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale, int reach) {
  extern __shared__ __align__(16) elem tiles[];
  elem *p = tiles + 4 * TILE * LD, *ds = p + TILE * LD;
  u32 keys = shared_address(tiles), values = keys + BYTES, queries = values + BYTES, grads = queries + BYTES;
  Head h = head_of_block(b, qkv);
  int n0 = blockIdx.x * TILE;
  if (n0 >= h.n) return;
  int w = threadIdx.x >> 5, lane = threadIdx.x & 31, row = lane >> 2, column = (lane & 3) * 2;
  const elem* douts = dout + ((i64)h.first * b.heads + h.number) * D;
  float dk[8][4], dv[8][4];
  clear(dk);
  clear(dv);
  if (n0 < h.keys) {
    fetch(keys, h.k, h.stride, n0, h.keys);
    fetch(values, h.v, h.stride, n0, h.keys);
    Reached queries_of = reached<LOCAL>(n0, h.n, reach);
    for (int m0 = queries_of.from; m0 < queries_of.end; m0 += TILE) {
      __syncthreads(); // nobody reads the tiles of the queries before
      fetch(queries, h.q, h.stride, m0, h.n);
      fetch(grads, douts, b.heads * D, m0, h.n);
      copies_done();
      __syncthreads(); // tiles are whole
      u32 a[4][4];
      float s[8][4], dp[8][4];
      left(a, queries + w * 16 * LD * 2);
      clear(s);
      multiply_transposed(s, a, keys);
      if (LOCAL) hide(s, m0 + w * 16, n0, reach);
      if (ADD) hide_past(s, n0, h.keys); // which have no dk and dv, see below
      left(a, grads + w * 16 * LD * 2);
      clear(dp);
      multiply_transposed(dp, a, values);
      u32 kept = gradients(s, dp, h, lse, delta, d, scale, m0 + w * 16, n0);
      UNROLL
      for (int j = 0; j < 8; j++) {
        UNROLL
        for (int half = 0; half < 2; half++) {
          int at = (w * 16 + row + 8 * half) * LD + j * 8 + column;
          u32 pair = pack2(s[j][2 * half], s[j][2 * half + 1]);
          *(u32*)(p + at) = d.keep < 256 ? pair & both(kept << j, half) : pair;
          store2(ds + at, dp[j][2 * half], dp[j][2 * half + 1]);
        }
      }
      if (ADD) {
        as_left(a, dp);
        clear(s);
        multiply(s, a, keys);
        UNROLL
        for (int half = 0; half < 2; half++) {
          int r = m0 + w * 16 + row + 8 * half;
          if (r >= h.n) continue;
          float* to = dq + ((i64)(h.first + r) * b.heads + h.number) * D + column;
          UNROLL
          for (int j = 0; j < 8; j++) {
            atomicAdd(to + j * 8, s[j][2 * half]);
            atomicAdd(to + j * 8 + 1, s[j][2 * half + 1]);
          }
        }
      }
      __syncthreads(); // P and dS are whole
      left_transposed(a, grads + BYTES + w * 16 * 2);
      multiply(dv, a, grads);
      left_transposed(a, grads + 2 * BYTES + w * 16 * 2);
      multiply(dk, a, queries);
    }
  }
  UNROLL
  for (int half = 0; half < 2; half++) {
    int r = n0 + w * 16 + row + 8 * half;
    if (r >= h.n) continue;
    elem* to = dqkv + (i64)(h.first + r) * h.stride + (b.heads + h.number) * D + column;
    bool in = r < h.keys;
    float factor = scale_of(d);
    UNROLL
    for (int j = 0; j < 8; j++) {
      store2(to + j * 8, in ? dk[j][2 * half] : 0.f, in ? dk[j][2 * half + 1] : 0.f);
      store2(to + b.heads * D + j * 8, in ? dv[j][2 * half] * factor : 0.f, in ? dv[j][2 * half + 1] * factor : 0.f);
    }
  }
}

// dk and dv, as attention_backward_keys.
KERNEL(THREADS, BACKWARD_BLOCKS) flash_backward_keys(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale) {
  backward_keys<false, false>(dqkv, nullptr, qkv, dout, lse, delta, b, d, scale, 0);
}

KERNEL(THREADS, BACKWARD_BLOCKS) flash_local_backward_keys(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale, int reach) {
  backward_keys<false, true>(dqkv, nullptr, qkv, dout, lse, delta, b, d, scale, reach);
}

// dk and dv, and dq added to dq (T, A, 64), which flash_queries_done ends: faster,
// and rounded differently in every run.
KERNEL(THREADS, BACKWARD_BLOCKS) flash_backward(elem* dqkv, float* dq, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale) {
  backward_keys<true, false>(dqkv, dq, qkv, dout, lse, delta, b, d, scale, 0);
}

KERNEL(THREADS, BACKWARD_BLOCKS) flash_local_backward(elem* dqkv, float* dq, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale, int reach) {
  backward_keys<true, true>(dqkv, dq, qkv, dout, lse, delta, b, d, scale, reach);
}

// dqkv's queries from dq, which is 0 afterwards. A thread four elements.
KERNEL(THREADS) flash_queries_done(elem* dqkv, float* dq, int tokens, int heads) {
  i64 at = ((i64)blockIdx.x * THREADS + threadIdx.x) * 4;
  if (at >= (i64)tokens * heads * D) return;
  float4 x = *(const float4*)(dq + at);
  float v[4] = {x.x, x.y, x.z, x.w};
  *(float4*)(dq + at) = make_float4(0, 0, 0, 0);
  store4(dqkv + at / (heads * D) * 3 * heads * D + at % (heads * D), v);
}

// dq in a fixed order, as attention_backward_queries: 64 queries, over all keys.
template <bool LOCAL> DEV void backward_queries(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale, int reach) {
  __shared__ __align__(16) elem tiles[4 * TILE * LD];
  u32 queries = shared_address(tiles), grads = queries + BYTES, keys = grads + BYTES, values = keys + BYTES;
  Head h = head_of_block(b, qkv);
  int m0 = blockIdx.x * TILE;
  if (m0 >= h.n) return;
  int w = threadIdx.x >> 5, lane = threadIdx.x & 31, row = lane >> 2, column = (lane & 3) * 2;
  fetch(queries, h.q, h.stride, m0, h.n);
  fetch(grads, dout + ((i64)h.first * b.heads + h.number) * D, b.heads * D, m0, h.n);
  float dq[8][4];
  clear(dq);
  Reached keys_of = reached<LOCAL>(m0, h.keys, reach);
  for (int k0 = keys_of.from; k0 < keys_of.end; k0 += TILE) {
    __syncthreads(); // nobody reads the tiles of the keys before
    fetch(keys, h.k, h.stride, k0, h.keys);
    fetch(values, h.v, h.stride, k0, h.keys);
    copies_done();
    __syncthreads(); // tiles are whole
    u32 a[4][4];
    float s[8][4], dp[8][4];
    left(a, queries + w * 16 * LD * 2);
    clear(s);
    multiply_transposed(s, a, keys);
    if (LOCAL) hide(s, m0 + w * 16, k0, reach);
    hide_past(s, k0, h.keys);
    left(a, grads + w * 16 * LD * 2);
    clear(dp);
    multiply_transposed(dp, a, values);
    gradients(s, dp, h, lse, delta, d, scale, m0 + w * 16, k0);
    as_left(a, dp);
    multiply(dq, a, keys);
  }
  UNROLL
  for (int half = 0; half < 2; half++) {
    int r = m0 + w * 16 + row + 8 * half;
    if (r >= h.n) continue;
    elem* to = dqkv + (i64)(h.first + r) * h.stride + h.number * D + column;
    UNROLL
    for (int j = 0; j < 8; j++) store2(to + j * 8, dq[j][2 * half], dq[j][2 * half + 1]);
  }
}

KERNEL(THREADS, BACKWARD_BLOCKS) flash_backward_queries(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale) {
  backward_queries<false>(dqkv, qkv, dout, lse, delta, b, d, scale, 0);
}

KERNEL(THREADS, BACKWARD_BLOCKS) flash_local_backward_queries(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale, int reach) {
  backward_queries<true>(dqkv, qkv, dout, lse, delta, b, d, scale, reach);
}
