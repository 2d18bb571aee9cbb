// Embeddings and LayerNorm, forward and backward, with bias, dropout and
// residual in the same pass. A warp a row; a lane owns runs of 16 elements, the
// unit of a Philox block: run k·32 + lane of row r. The hidden size h is a
// multiple of 64 and at most 1024.
#include "dev.cuh"

#define RUNS 2
#define ROWS 4 // of a block
#define THREADS (ROWS * 32)

// Rows says where the rows of a matrix lie in the batch.
struct Rows {
  const int* sequence;    // (rows) sequence of each
  const int* cu;          // (S+1) first row of each sequence
  const i64* position;    // (S) global position of each sequence
  const int* selected;    // (n) row of the batch of each row here; null: the same
  int n;
};

DEV int row_of_warp() { return blockIdx.x * ROWS + (threadIdx.x >> 5); }

// drop drops out run `run` of row `row` of width h.
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

// affine sets y to v·gain + bias for a run.
DEV void affine(float* y, const float* v, const elem* gain, const elem* bias, int run) {
  float g[16], b[16];
  load16(g, gain + run * 16);
  load16(b, bias + run * 16);
  UNROLL
  for (int i = 0; i < 16; i++) y[i] = v[i] * g[i] + b[i];
}

// y (T, h) = drop(LN(word[id] + position[place] + segment[kind])); keeps xhat
// (T, h) and 1/σ (T).
KERNEL(THREADS) embed_forward(elem* y, elem* xhat, float* inverse, const elem* word, const elem* place, const elem* kind, const int* ids, const int* places, const int* kinds, const elem* gain, const elem* bias, Rows rows, Dropout d, int h, float eps) {
  int lane = threadIdx.x & 31, row = row_of_warp();
  if (row >= rows.n) return;
  float v[RUNS][16] = {};
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    float a[16], b[16];
    load16(v[k], word + (i64)ids[row] * h + run * 16);
    load16(a, place + (i64)places[row] * h + run * 16);
    load16(b, kind + (i64)kinds[row] * h + run * 16);
    UNROLL
    for (int i = 0; i < 16; i++) v[k][i] += a[i] + b[i];
  }
  float scale = normalize(v, h, eps);
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    float o[16];
    affine(o, v[k], gain, bias, run);
    drop_run(o, d, rows, row, run, h);
    store16(xhat + (i64)row * h + run * 16, v[k]);
    store16(y + (i64)row * h + run * 16, o);
  }
  if (lane == 0) inverse[row] = scale;
}

// y (n, h) = LN(drop(x + before) + residual); before and residual may be null.
// residual has the rows that rows.selected says. Keeps xhat (n, h) and 1/σ (n).
KERNEL(THREADS) norm_forward(elem* y, elem* xhat, float* inverse, const elem* x, const elem* before, const elem* residual, const elem* gain, const elem* bias, Rows rows, Dropout d, int h, float eps) {
  int lane = threadIdx.x & 31, row = row_of_warp();
  if (row >= rows.n) return;
  float v[RUNS][16] = {};
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    float a[16];
    load16(v[k], x + (i64)row * h + run * 16);
    if (before) {
      load16(a, before + run * 16);
      UNROLL
      for (int i = 0; i < 16; i++) v[k][i] += a[i];
    }
    drop_run(v[k], d, rows, row, run, h);
    if (residual) {
      load16(a, residual + (i64)(rows.selected ? rows.selected[row] : row) * h + run * 16);
      UNROLL
      for (int i = 0; i < 16; i++) v[k][i] += a[i];
    }
  }
  float scale = normalize(v, h, eps);
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    float o[16];
    affine(o, v[k], gain, bias, run);
    store16(xhat + (i64)row * h + run * 16, v[k]);
    store16(y + (i64)row * h + run * 16, o);
  }
  if (lane == 0) inverse[row] = scale;
}

// dz (n, h) = the gradient of the LayerNorm's input, from dy; where dx is not
// null, dx = drop(dz) is that of what was dropped out before it.
KERNEL(THREADS) norm_backward(elem* dz, elem* dx, const elem* dy, const elem* xhat, const float* inverse, const elem* gain, Rows rows, Dropout d, int h) {
  int lane = threadIdx.x & 31, row = row_of_warp();
  if (row >= rows.n) return;
  float g[RUNS][16] = {}, x[RUNS][16] = {}, sum = 0, dot = 0;
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    float a[16];
    load16(g[k], dy + (i64)row * h + run * 16);
    load16(a, gain + run * 16);
    load16(x[k], xhat + (i64)row * h + run * 16);
    UNROLL
    for (int i = 0; i < 16; i++) g[k][i] *= a[i], sum += g[k][i], dot += g[k][i] * x[k][i];
  }
  sum = warp_sum(sum) / h;
  dot = warp_sum(dot) / h;
  float scale = inverse[row];
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    UNROLL
    for (int i = 0; i < 16; i++) g[k][i] = (g[k][i] - sum - x[k][i] * dot) * scale;
    store16(dz + (i64)row * h + run * 16, g[k]);
    if (dx) {
      drop_run(g[k], d, rows, row, run, h);
      store16(dx + (i64)row * h + run * 16, g[k]);
    }
  }
}

// y (n, h) = drop(x): forward and backward of dropout alone. rows.cu may be null:
// then every row is the first of its sequence.
KERNEL(THREADS) dropout_rows(elem* y, const elem* x, Rows rows, Dropout d, int h) {
  int lane = threadIdx.x & 31, row = row_of_warp();
  if (row >= rows.n) return;
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    if (run * 16 >= h) continue;
    float v[16];
    load16(v, x + (i64)row * h + run * 16);
    if (rows.cu) drop_run(v, d, rows, row, run, h);
    else drop16(v, d, rows.position[row], run * 16);
    store16(y + (i64)row * h + run * 16, v);
  }
}
