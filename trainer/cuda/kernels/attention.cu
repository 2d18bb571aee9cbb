// Attention of sequences of any length, plain: a warp a row and a head of 64, sums
// in single precision. It is the oracle of the tensor-core kernels and what the
// fp32 build runs.
//
// attention_local_* are the same with a window: a query attends to keys at most
// `reach` away.
//
// qkv (T, 3, A, 64) is query, key and value of every token. Grids are (rows of
// the longest sequence / 4, A, S).
#include "dev.cuh"

#define D 64 // size of a head
#define ROWS 4
#define THREADS (ROWS * 32)

// Batch is the sequences of a batch.
struct Batch {
  const int* cu;       // (S+1) first token of each sequence
  const int* visible;  // (S) tokens that are attended to; null: all
  const i64* position; // (S) global positions
  int tokens, heads;   // T, A
};

// A Sequence is what a block works on.
struct Sequence {
  int first, n, keys; // first token, tokens, tokens that are attended to
  i64 position;
};

DEV Sequence sequence_of_block(Batch b) {
  int s = blockIdx.z;
  Sequence q;
  q.first = b.cu[s];
  q.n = b.cu[s + 1] - q.first;
  q.keys = b.visible ? b.visible[s] : q.n;
  q.position = b.position[s];
  return q;
}

// Reached are the tokens of the other side that a block's tokens reach, of n: all of
// them without a window. They are those of all warps, for loops that do not diverge.
struct Reached { int from, end; };

template <bool LOCAL> DEV Reached reached(int n, int reach) {
  int first = blockIdx.x * ROWS;
  if (!LOCAL) return Reached{0, n};
  return Reached{max(0, first - reach), min(n, first + ROWS + reach)};
}

template <bool LOCAL> DEV bool attends(int r, int k, int reach) { return !LOCAL || abs(r - k) <= reach; }

// kept returns the factor of the probability of query r and key k: 0, or 1/keep.
DEV float kept(Dropout d, i64 position, int r, int k, int head) {
  if (d.keep >= 256) return 1.f;
  u32 lane = r % 8 * 4 + k % 8 / 2;
  uint4 x = random(d, position, lane | (u32)(k / 32) << 5 | (u32)(r / 16) << 14 | (u32)head << 24);
  return byte_of(x, k % 32 / 8 * 4 + r % 16 / 8 * 2 + k % 2) < d.keep ? d.scale : 0.f;
}

// copy_row puts a row of 64 into shared memory as floats; the warp works together.
DEV void copy_row(float* to, const elem* from) {
  int lane = threadIdx.x & 31;
  to[lane] = value(from[lane]);
  to[lane + 32] = value(from[lane + 32]);
}

// dot returns the product of a row in shared memory and one in global memory.
DEV float dot(const float* a, const elem* b) {
  float s = 0;
  for (int i = 0; i < D; i += 4) {
    float v[4];
    load4(v, b + i);
    s += a[i] * v[0] + a[i + 1] * v[1] + a[i + 2] * v[2] + a[i + 3] * v[3];
  }
  return s;
}

// out (T, A, 64) = softmax(q·kᵀ·scale), dropped out, times v; lse (A, T) is the
// logarithm of the softmax's sum.
template <bool LOCAL> DEV void forward(elem* out, float* lse, const elem* qkv, Batch b, Dropout d, float scale, int reach) {
  __shared__ float query[ROWS][D];
  Sequence q = sequence_of_block(b);
  int w = threadIdx.x >> 5, lane = threadIdx.x & 31, r = blockIdx.x * ROWS + w, head = blockIdx.y;
  if (r >= q.n) return;
  i64 row = (i64)3 * b.heads * D;
  const elem* base = qkv + q.first * row + head * D;
  copy_row(query[w], base + r * row);
  __syncwarp(); // the query is written
  float top = -1e30f, sum = 0, o0 = 0, o1 = 0;
  Reached keys = reached<LOCAL>(q.keys, reach);
  for (int k0 = keys.from; k0 < keys.end; k0 += 32) {
    int k = k0 + lane;
    float s = k < keys.end && attends<LOCAL>(r, k, reach) ? dot(query[w], base + k * row + b.heads * D) * scale : -1e30f;
    float now = fmaxf(top, warp_max(s)), old = expf(top - now), p = k < keys.end && attends<LOCAL>(r, k, reach) ? expf(s - now) : 0.f;
    sum = sum * old + warp_sum(p);
    top = now, o0 *= old, o1 *= old;
    if (k < keys.end) p *= kept(d, q.position, r, k, head);
    for (int j = 0; j < min(32, keys.end - k0); j++) {
      const elem* v = base + (k0 + j) * row + 2 * b.heads * D;
      float pj = __shfl_sync(0xffffffffu, p, j);
      o0 += pj * value(v[lane]), o1 += pj * value(v[lane + 32]);
    }
  }
  elem* to = out + ((i64)(q.first + r) * b.heads + head) * D;
  to[lane] = rounded(o0 / sum);
  to[lane + 32] = rounded(o1 / sum);
  if (lane == 0) lse[(i64)head * b.tokens + q.first + r] = top + logf(sum);
}

KERNEL(THREADS) attention_forward(elem* out, float* lse, const elem* qkv, Batch b, Dropout d, float scale) { forward<false>(out, lse, qkv, b, d, scale, 0); }

KERNEL(THREADS) attention_local_forward(elem* out, float* lse, const elem* qkv, Batch b, Dropout d, float scale, int reach) { forward<true>(out, lse, qkv, b, d, scale, reach); }

// delta (A, T) = Σ dout·out over a head. A warp a token and head; the grid is
// (T·A / 4).
KERNEL(THREADS) attention_delta(float* delta, const elem* out, const elem* dout, int tokens, int heads) {
  int lane = threadIdx.x & 31, i = blockIdx.x * ROWS + (threadIdx.x >> 5);
  if (i >= tokens * heads) return;
  const elem *x = out + (i64)i * D, *y = dout + (i64)i * D;
  float s = warp_sum(value(x[lane]) * value(y[lane]) + value(x[lane + 32]) * value(y[lane + 32]));
  if (lane == 0) delta[(i64)(i % heads) * tokens + i / heads] = s;
}

// dqkv's queries: dq = Σ dS·k with dS = P·(drop(dout·v) − delta)·scale.
template <bool LOCAL> DEV void backward_queries(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale, int reach) {
  __shared__ float query[ROWS][D], grad[ROWS][D];
  Sequence q = sequence_of_block(b);
  int w = threadIdx.x >> 5, lane = threadIdx.x & 31, r = blockIdx.x * ROWS + w, head = blockIdx.y;
  if (r >= q.n) return;
  i64 row = (i64)3 * b.heads * D, at = (i64)head * b.tokens + q.first + r;
  const elem* base = qkv + q.first * row + head * D;
  copy_row(query[w], base + r * row);
  copy_row(grad[w], dout + ((i64)(q.first + r) * b.heads + head) * D);
  __syncwarp(); // both are written
  float dq0 = 0, dq1 = 0;
  Reached keys = reached<LOCAL>(q.keys, reach);
  for (int k0 = keys.from; k0 < keys.end; k0 += 32) {
    int k = k0 + lane;
    float ds = 0;
    if (k < keys.end && attends<LOCAL>(r, k, reach)) {
      const elem* key = base + k * row + b.heads * D;
      float p = expf(dot(query[w], key) * scale - lse[at]);
      ds = p * (dot(grad[w], key + b.heads * D) * kept(d, q.position, r, k, head) - delta[at]) * scale;
    }
    for (int j = 0; j < min(32, keys.end - k0); j++) {
      const elem* key = base + (k0 + j) * row + b.heads * D;
      float x = __shfl_sync(0xffffffffu, ds, j);
      dq0 += x * value(key[lane]), dq1 += x * value(key[lane + 32]);
    }
  }
  elem* to = dqkv + (q.first + r) * row + head * D;
  to[lane] = rounded(dq0);
  to[lane + 32] = rounded(dq1);
}

KERNEL(THREADS) attention_backward_queries(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale) {
  backward_queries<false>(dqkv, qkv, dout, lse, delta, b, d, scale, 0);
}

KERNEL(THREADS) attention_local_backward_queries(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale, int reach) {
  backward_queries<true>(dqkv, qkv, dout, lse, delta, b, d, scale, reach);
}

// dqkv's keys and values: dk = Σ dS·q and dv = Σ drop(P)·dout over the queries; 0
// for keys that nobody attends to.
template <bool LOCAL> DEV void backward_keys(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale, int reach) {
  __shared__ float key[ROWS][D], val[ROWS][D];
  Sequence q = sequence_of_block(b);
  int w = threadIdx.x >> 5, lane = threadIdx.x & 31, k = blockIdx.x * ROWS + w, head = blockIdx.y;
  if (k >= q.n) return;
  i64 row = (i64)3 * b.heads * D, at = (i64)head * b.tokens + q.first;
  const elem *base = qkv + q.first * row + head * D, *grads = dout + ((i64)q.first * b.heads + head) * D;
  float dk0 = 0, dk1 = 0, dv0 = 0, dv1 = 0;
  if (k < q.keys) {
    copy_row(key[w], base + k * row + b.heads * D);
    copy_row(val[w], base + k * row + 2 * b.heads * D);
    __syncwarp(); // both are written
    Reached rows = reached<LOCAL>(q.n, reach);
    for (int r0 = rows.from; r0 < rows.end; r0 += 32) {
      int r = r0 + lane;
      float p = 0, ds = 0;
      if (r < rows.end && attends<LOCAL>(r, k, reach)) {
        float keep = kept(d, q.position, r, k, head);
        p = expf(dot(key[w], base + r * row) * scale - lse[at + r]);
        ds = p * (dot(val[w], grads + (i64)r * b.heads * D) * keep - delta[at + r]) * scale;
        p *= keep;
      }
      for (int j = 0; j < min(32, rows.end - r0); j++) {
        const elem *query = base + (r0 + j) * row, *grad = grads + (i64)(r0 + j) * b.heads * D;
        float x = __shfl_sync(0xffffffffu, ds, j), y = __shfl_sync(0xffffffffu, p, j);
        dk0 += x * value(query[lane]), dk1 += x * value(query[lane + 32]);
        dv0 += y * value(grad[lane]), dv1 += y * value(grad[lane + 32]);
      }
    }
  }
  elem* to = dqkv + (q.first + k) * row + (b.heads + head) * D;
  to[lane] = rounded(dk0), to[lane + 32] = rounded(dk1);
  to += b.heads * D;
  to[lane] = rounded(dv0), to[lane + 32] = rounded(dv1);
}

KERNEL(THREADS) attention_backward_keys(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale) { backward_keys<false>(dqkv, qkv, dout, lse, delta, b, d, scale, 0); }

KERNEL(THREADS) attention_local_backward_keys(elem* dqkv, const elem* qkv, const elem* dout, const float* lse, const float* delta, Batch b, Dropout d, float scale, int reach) {
  backward_keys<true>(dqkv, qkv, dout, lse, delta, b, d, scale, reach);
}
