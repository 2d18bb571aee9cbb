// What ModernBERT computes and BERT does not: rotary positions, the gated activation,
// and LayerNorm without bias before each block of a residual stream, which is in
// single precision.
#include "dev.cuh"

#define D 64 // size of a head
#define ROWS 4 // of a block
#define THREADS (ROWS * 32)

DEV int row_of_warp() { return blockIdx.x * ROWS + (threadIdx.x >> 5); }

// first_of_thread returns the first of a thread's four elements, of fewer than 2^32.
DEV u32 first_of_thread() { return (blockIdx.x * THREADS + threadIdx.x) * 4; }

// ---- rotary positions

// x (T, 3, heads, 64): the queries and keys are turned in place by the angles of their
// places in the sequence, with back by the negatives. table (places, 32) holds the
// cosine and the sine for pair i of a head, its elements i and i+32. A thread has four
// pairs.
KERNEL(THREADS) rotate(elem* x, const float2* table, Rows rows, int heads, int back) {
  u32 thread = blockIdx.x * THREADS + threadIdx.x, each = heads * D / 4; // each: threads of a token
  int row = thread / each, i = thread % each;
  if (row >= rows.n) return;
  int place = row - rows.cu[rows.sequence[row]];
  elem* at = x + (i64)row * 3 * heads * D + i / 8 * D + i % 8 * 4; // keys lie behind the queries
  const float4* angles = (const float4*)(table + place * (D / 2) + i % 8 * 4);
  float4 low = angles[0], high = angles[1];
  float cosines[4] = {low.x, low.z, high.x, high.z}, sines[4] = {low.y, low.w, high.y, high.w}, a[4], b[4];
  load4(a, at), load4(b, at + D / 2);
  UNROLL
  for (int j = 0; j < 4; j++) {
    float c = cosines[j], s = back ? -sines[j] : sines[j], first = a[j];
    a[j] = first * c - b[j] * s;
    b[j] = b[j] * c + first * s;
  }
  store4(at, a), store4(at + D / 2, b);
}

// ---- the gated activation

// kept4 returns the factors of dropout of four elements of a row. The first is a
// multiple of four, so that they are of one block of Philox.
DEV float4 kept4(Dropout d, Rows rows, int row, int column, int width) {
  if (d.keep >= 256) return make_float4(1.f, 1.f, 1.f, 1.f);
  int s = rows.sequence[row];
  u32 at = (u32)(row - rows.cu[s]) * width + column;
  uint4 r = random(d, rows.position[s], at / 16);
  float f[4];
  UNROLL
  for (int i = 0; i < 4; i++) f[i] = byte_of(r, at % 16 + i) < d.keep ? d.scale : 0.f;
  return make_float4(f[0], f[1], f[2], f[3]);
}

// g (n, width) = drop(gelu(u₁)·u₂), where a row of u (n, 2·width) is u₁ and u₂.
KERNEL(THREADS) geglu_forward(elem* g, const elem* u, Rows rows, Dropout d, int width, int tanh_form) {
  u32 at = first_of_thread();
  int row = at / (u32)width, column = at % (u32)width;
  if (row >= rows.n) return;
  u += (i64)row * 2 * width + column;
  float v[4], gate[4];
  load4(v, u), load4(gate, u + width);
  float4 f = kept4(d, rows, row, column, width);
  float keep[4] = {f.x, f.y, f.z, f.w};
  UNROLL
  for (int i = 0; i < 4; i++) v[i] = gelu(v[i], tanh_form) * gate[i] * keep[i];
  store4(g + at, v);
}

// In place: g, the gradient of what geglu_forward computed, becomes that again, and u
// becomes its gradient.
KERNEL(THREADS) geglu_backward(elem* u, elem* g, Rows rows, Dropout d, int width, int tanh_form) {
  u32 at = first_of_thread();
  int row = at / (u32)width, column = at % (u32)width;
  if (row >= rows.n) return;
  u += (i64)row * 2 * width + column;
  float v[4], gate[4], dg[4];
  load4(v, u), load4(gate, u + width), load4(dg, g + at);
  float4 f = kept4(d, rows, row, column, width);
  float keep[4] = {f.x, f.y, f.z, f.w}, out[4];
  UNROLL
  for (int i = 0; i < 4; i++) {
    float y = gelu(v[i], tanh_form), slope = gelu_slope(v[i], tanh_form), by = dg[i] * keep[i];
    out[i] = y * gate[i] * keep[i];
    v[i] = by * gate[i] * slope;
    gate[i] = by * y;
  }
  store4(u, v), store4(u + width, gate), store4(g + at, out);
}

// ---- LayerNorm and the residual stream

DEV void load_floats(float* v, const float* p) {
  UNROLL
  for (int i = 0; i < 16; i += 4) {
    float4 x = *(const float4*)(p + i);
    v[i] = x.x, v[i + 1] = x.y, v[i + 2] = x.z, v[i + 3] = x.w;
  }
}

DEV void store_floats(float* p, const float* v) {
  UNROLL
  for (int i = 0; i < 16; i += 4) *(float4*)(p + i) = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
}

// drop_own is drop_run of rows of which none are selected.
DEV void drop_own(float* v, Dropout d, Rows rows, int row, int run, int h) {
  rows.selected = 0;
  drop_run(v, d, rows, row, run, h);
}

// standardize turns the runs of a row into standardized values, which it stores in xhat
// (n, h) unless it is null, and stores 1/σ in inverse (n). Runs behind the row are 0 and stay so.
DEV void standardize(elem* xhat, float* inverse, float (*v)[16], int row, int h, float eps) {
  int lane = threadIdx.x & 31;
  float scale = normalize(v, h, eps);
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (xhat && run * 16 < h) store16(xhat + (i64)row * h + run * 16, v[k]);
  }
  if (lane == 0) inverse[row] = scale;
}

// gain_run multiplies a run of a row by the gain.
DEV void gain_run(float* v, const elem* gain, int run) {
  float g[16];
  load16(g, gain + run * 16);
  UNROLL
  for (int i = 0; i < 16; i++) v[i] *= g[i];
}

// input_gradient turns the gradient g of a LayerNorm's output into that of its input.
DEV void input_gradient(float (*g)[16], const elem* xhat, const float* inverse, const elem* gain, int row, int h) {
  int lane = threadIdx.x & 31;
  float x[RUNS][16] = {}, sum = 0, dot = 0;
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    gain_run(g[k], gain, run);
    load16(x[k], xhat + (i64)row * h + run * 16);
    UNROLL
    for (int i = 0; i < 16; i++) sum += g[k][i], dot += g[k][i] * x[k][i];
  }
  sum = warp_sum(sum) / h;
  dot = warp_sum(dot) / h;
  float scale = inverse[row];
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    UNROLL
    for (int i = 0; i < 16; i++) g[k][i] = (g[k][i] - sum - x[k][i] * dot) * scale;
  }
}

// y (T, h) = drop(LN(word[id])), and the same in single precision in stream (T, h).
KERNEL(THREADS) words_forward(elem* y, elem* xhat, float* inverse, float* stream, const elem* word, const int* ids, const elem* gain, Rows rows, Dropout d, int h, float eps) {
  int lane = threadIdx.x & 31, row = row_of_warp();
  if (row >= rows.n) return;
  float v[RUNS][16] = {};
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 < h) load16(v[k], word + (i64)ids[row] * h + run * 16);
  }
  standardize(xhat, inverse, v, row, h, eps);
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    gain_run(v[k], gain, run);
    drop_own(v[k], d, rows, row, run, h);
    store16(y + (i64)row * h + run * 16, v[k]);
    store_floats(stream + (i64)row * h + run * 16, v[k]);
  }
}

// The gradient of the stream is ds (T, h), and dx is that of y. dy (T, h) becomes the
// gradient of the LayerNorm's output, dz (T, h) that of the words.
KERNEL(THREADS) words_backward(elem* dz, elem* dy, const float* ds, const elem* dx, const elem* xhat, const float* inverse, const elem* gain, Rows rows, Dropout d, int h) {
  int lane = threadIdx.x & 31, row = row_of_warp();
  if (row >= rows.n) return;
  float g[RUNS][16] = {};
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    float x[16];
    load_floats(g[k], ds + (i64)row * h + run * 16);
    load16(x, dx + (i64)row * h + run * 16);
    UNROLL
    for (int i = 0; i < 16; i++) g[k][i] += x[i];
    drop_own(g[k], d, rows, row, run, h);
    store16(dy + (i64)row * h + run * 16, g[k]);
  }
  input_gradient(g, xhat, inverse, gain, row, h);
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 < h) store16(dz + (i64)row * h + run * 16, g[k]);
  }
}

// y (n, h) = LN(s) with s = from + drop(x), where x (n, h) is the output of a block. Row
// i of from is its row index[i], or i if index is null. s goes to the stream to (n, h).
// from and to may be null, or the same without an index. Keeps xhat and 1/σ.
KERNEL(THREADS) stream_forward(elem* y, elem* xhat, float* inverse, float* to, const elem* x, const float* from, const int* index, const elem* gain, Rows rows, Dropout d, int h, float eps) {
  int lane = threadIdx.x & 31, row = row_of_warp();
  if (row >= rows.n) return;
  float v[RUNS][16] = {};
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    load16(v[k], x + (i64)row * h + run * 16);
    drop_own(v[k], d, rows, row, run, h);
    if (from) {
      float s[16];
      load_floats(s, from + (i64)(index ? index[row] : row) * h + run * 16);
      UNROLL
      for (int i = 0; i < 16; i++) v[k][i] += s[i];
    }
    if (to) store_floats(to + (i64)row * h + run * 16, v[k]);
  }
  standardize(xhat, inverse, v, row, h, eps);
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    gain_run(v[k], gain, run);
    store16(y + (i64)row * h + run * 16, v[k]);
  }
}

// The gradient of s from dy, that of y, and from ds (n, h), that of the stream behind,
// which may be null. It replaces ds where to is ds; to may be null. dx (n, h) is the
// gradient of the block's output x.
KERNEL(THREADS) stream_backward(float* to, elem* dx, const elem* dy, const float* ds, const elem* xhat, const float* inverse, const elem* gain, Rows rows, Dropout d, int h) {
  int lane = threadIdx.x & 31, row = row_of_warp();
  if (row >= rows.n) return;
  float g[RUNS][16] = {};
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 < h) load16(g[k], dy + (i64)row * h + run * 16);
  }
  input_gradient(g, xhat, inverse, gain, row, h);
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    if (ds) {
      float s[16];
      load_floats(s, ds + (i64)row * h + run * 16);
      UNROLL
      for (int i = 0; i < 16; i++) g[k][i] += s[i];
    }
    if (to) store_floats(to + (i64)row * h + run * 16, g[k]);
    drop_own(g[k], d, rows, row, run, h);
    store16(dx + (i64)row * h + run * 16, g[k]);
  }
}

// Row index[i] of to (…, h) becomes row i of from (n, h). A thread four elements.
KERNEL(THREADS) spread_stream(float* to, const float* from, const int* index, int n, int h) {
  u32 at = first_of_thread();
  if (at >= (u32)n * h) return;
  *(float4*)(to + (i64)index[at / h] * h + at % h) = *(const float4*)(from + at);
}

// ---- what a classifier reads of a sequence

// y (sequences, width): the means of the rows of x (T, width) of each sequence. blockIdx.y is
// the sequence, and a thread has a column.
KERNEL(THREADS) mean_rows(elem* y, const elem* x, const int* cu, int width) {
  int column = blockIdx.x * THREADS + threadIdx.x, s = blockIdx.y;
  if (column >= width) return;
  float sum = 0;
  for (int i = cu[s]; i < cu[s + 1]; i++) sum += value(x[(i64)i * width + column]);
  y[(i64)s * width + column] = rounded(sum / (cu[s + 1] - cu[s]));
}

// dx (T, width) from the gradient dy (sequences, width) of the means. Rows of later sequences,
// which are padding, stay as they are.
KERNEL(THREADS) mean_rows_backward(elem* dx, const elem* dy, Rows rows, int sequences, int width) {
  u32 at = first_of_thread();
  int row = at / (u32)width, column = at % (u32)width;
  if (row >= rows.n || rows.sequence[row] >= sequences) return;
  int s = rows.sequence[row];
  float v[4], n = rows.cu[s + 1] - rows.cu[s];
  load4(v, dy + (i64)s * width + column);
  UNROLL
  for (int i = 0; i < 4; i++) v[i] /= n;
  store4(dx + at, v);
}
