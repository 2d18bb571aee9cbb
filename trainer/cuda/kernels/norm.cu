// Embeddings and LayerNorm, forward and backward, with bias, dropout and
// residual in the same pass. A warp a row, in runs as dev.cuh says.
#include "dev.cuh"

#define ROWS 4 // of a block
#define THREADS (ROWS * 32)

DEV int row_of_warp() { return blockIdx.x * ROWS + (threadIdx.x >> 5); }

// The standardized values of a run are not stored where the backward pass can compute them
// again from y = v·gain + bias: where no gain is so small, alone or beside its bias, that y has
// lost them by its rounding. Both
// limits are powers of two.
#define SMALLEST_GAIN 0.015625f
#define LARGEST_BIAS 4.f // times the gain

DEV bool invertible(const float* gain, const float* bias) {
  float least = 1; // how far the worst column is from the limits: a sum of exact terms, so that both passes agree
  UNROLL
  for (int i = 0; i < 16; i++) least = fminf(least, fminf(fabsf(gain[i]) - SMALLEST_GAIN, LARGEST_BIAS * fabsf(gain[i]) - fabsf(bias[i])));
  return least >= 0;
}

// Of a value that is neither small nor large, to its last bit.
DEV float reciprocal(float x) { float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }

// affine sets y to v·gain + bias for a run, and reports whether v can be computed from y.
DEV bool affine(float* y, const float* v, const elem* gain, const elem* bias, int run) {
  float g[16], b[16];
  load16(g, gain + run * 16);
  load16(b, bias + run * 16);
  UNROLL
  for (int i = 0; i < 16; i++) y[i] = v[i] * g[i] + b[i];
  return invertible(g, b);
}

// y (T, h) = drop(LN(word[id] + position[place] + segment[kind])); keeps xhat
// (T, h), unless it is null, and 1/σ (T).
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
    if (xhat) store16(xhat + (i64)row * h + run * 16, v[k]);
    store16(y + (i64)row * h + run * 16, o);
  }
  if (lane == 0) inverse[row] = scale;
}

// y (n, h) = LN(drop(x + before) + residual); before and residual may be null.
// residual has the rows that rows.selected says. Keeps 1/σ (n) and, unless xhat (n, h) is
// null, those runs of xhat that cannot be computed from y.
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
    bool again = affine(o, v[k], gain, bias, run);
    if (xhat && !again) store16(xhat + (i64)row * h + run * 16, v[k]);
    store16(y + (i64)row * h + run * 16, o);
  }
  if (lane == 0) inverse[row] = scale;
}

// load_hats loads eight elements of xhat, or computes them from y.
DEV void load_hats(float* x, bool again, const elem* y, const elem* xhat, const float* gain, const elem* bias) {
  load8(x, again ? y : xhat);
  if (!again) return;
  float b[8];
  load8(b, bias);
  UNROLL
  for (int i = 0; i < 8; i++) x[i] = (x[i] - b[i]) * reciprocal(gain[i]);
}

// The compiler forgets what it loaded.
#define FORGET asm volatile("" ::: "memory")

// of_piece returns the place in shared memory of four columns of a run. Lanes that write the
// same piece of different runs, or read the pieces of runs in a row, use different banks.
DEV int of_piece(int run, int piece) { return run * 16 + (piece ^ (run >> 1 & 3)) * 4; }

// store_shared4 is one store: the compiler would make four of some, with bank conflicts.
DEV void store_shared4(float* p, const float* v) {
  asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"((u32)__cvta_generic_to_shared(p)), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]) : "memory");
}

// block_sums adds up a row of every warp, whose runs v has, and writes it to the row to (h).
// Every thread of the block must call it.
DEV void block_sums(float* to, float (*v)[16], int h) {
  __shared__ __align__(16) float sums[ROWS][RUNS * 32 * 16];
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    UNROLL
    for (int i = 0; i < 4; i++) {
      store_shared4(sums[threadIdx.x >> 5] + of_piece(k * 32 + (threadIdx.x & 31), i), v[k] + 4 * i);
    }
  }
  __syncthreads(); // rows of the warps are written
  for (int i = threadIdx.x; i < h / 4; i += THREADS) {
    float4 s = make_float4(0, 0, 0, 0);
    UNROLL
    for (int w = 0; w < ROWS; w++) {
      float4 x = *(const float4*)(sums[w] + of_piece(i / 4, i & 3));
      s.x += x.x, s.y += x.y, s.z += x.z, s.w += x.w;
    }
    *(float4*)(to + 4 * i) = s;
  }
  __syncthreads(); // rows may be overwritten
}

#ifdef DT_F32
#define NORM_BLOCKS 2 // of a multiprocessor: its registers hold the sums of so many
#else
#define NORM_BLOCKS 3
#endif

// dz (n, h) = the gradient of the LayerNorm's input, from dy; where dx is not
// null, dx = drop(dz) is that of what was dropped out before it. xhat is that of
// embed_forward if y is null, else that of norm_forward.
//
// part (blocks, 3, h): sums over the rows of a block of dx, of dy·xhat and of dy: the
// gradients of a bias before the LayerNorm, of its gain and of its bias, which add_parts adds
// up. Without dx, part is (blocks, 2, h). The blocks share the rows out.
KERNEL(THREADS, NORM_BLOCKS) norm_backward(elem* dz, elem* dx, float* part, const elem* dy, const elem* y, const elem* xhat, const float* inverse, const elem* gain, const elem* bias, Rows rows, Dropout d, int h) {
  int lane = threadIdx.x & 31;
  bool again[RUNS];
  float before[RUNS][16] = {}, gains[RUNS][16] = {}, biases[RUNS][16] = {};
  UNROLL
  for (int k = 0; k < RUNS; k++) {
    int run = k * 32 + lane;
    again[k] = false;
    if (run * 16 >= h || !y) continue;
    float g[16], b[16];
    load16(g, gain + run * 16);
    load16(b, bias + run * 16);
    again[k] = invertible(g, b);
  }
  for (int row = row_of_warp(); row < rows.n; row += gridDim.x * ROWS) {
    float sum = 0, dot = 0;
    UNROLL
    for (int k = 0; k < RUNS; k++) {
      int column = (k * 32 + lane) * 16;
      if (column >= h) continue;
      UNROLL
      for (int half = 0; half < 16; half += 8) {
        i64 at = (i64)row * h + column + half;
        float g[8], x[8], a[8];
        load8(g, dy + at);
        load8(a, gain + column + half);
        load_hats(x, again[k], y + at, xhat + at, a, bias + column + half);
        UNROLL
        for (int i = 0; i < 8; i++) {
          biases[k][half + i] += g[i], gains[k][half + i] += g[i] * x[i];
          g[i] *= a[i], sum += g[i], dot += g[i] * x[i];
        }
      }
    }
    sum = warp_sum(sum) / h;
    dot = warp_sum(dot) / h;
    float scale = inverse[row];
    FORGET; // the row is loaded again, from the cache: registers hold the sums
    UNROLL
    for (int k = 0; k < RUNS; k++) {
      int column = (k * 32 + lane) * 16;
      if (column >= h) continue;
      float g[16];
      UNROLL
      for (int half = 0; half < 16; half += 8) {
        i64 at = (i64)row * h + column + half;
        float x[8], a[8];
        load8(g + half, dy + at);
        load8(a, gain + column + half);
        load_hats(x, again[k], y + at, xhat + at, a, bias + column + half);
        UNROLL
        for (int i = 0; i < 8; i++) g[half + i] = (g[half + i] * a[i] - sum - x[i] * dot) * scale;
      }
      store16(dz + (i64)row * h + column, g);
      if (!dx) continue;
      drop_run(g, d, rows, row, column / 16, h);
      UNROLL
      for (int i = 0; i < 16; i++) before[k][i] += g[i];
      store16(dx + (i64)row * h + column, g);
    }
  }
  part += (i64)blockIdx.x * (dx ? 3 : 2) * h;
  if (dx) {
    block_sums(part, before, h);
    part += h;
  }
  block_sums(part, gains, h);
  block_sums(part + h, biases, h);
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
