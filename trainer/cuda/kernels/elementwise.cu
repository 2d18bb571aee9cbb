// Activations, biases, casts, sums of columns, rows gathered and added up.
// n elements of a kernel are a multiple of 4.
#include "dev.cuh"

#define THREADS 256

DEV i64 first_of_thread() { return ((i64)blockIdx.x * THREADS + threadIdx.x) * 4; }

// u (rows, width) += bias and g = gelu(u), n = rows·width.
KERNEL(THREADS) gelu_forward(elem* g, elem* u, const elem* bias, i64 n, int width, int tanh_form) {
  i64 at = first_of_thread();
  if (at >= n) return;
  float v[4], b[4];
  load4(v, u + at);
  load4(b, bias + at % width);
  UNROLL
  for (int i = 0; i < 4; i++) v[i] = value(rounded(v[i] + b[i]));
  store4(u + at, v);
  UNROLL
  for (int i = 0; i < 4; i++) v[i] = gelu(v[i], tanh_form);
  store4(g + at, v);
}

// g = gelu(u).
KERNEL(THREADS) gelu_again(elem* g, const elem* u, i64 n, int tanh_form) {
  i64 at = first_of_thread();
  if (at >= n) return;
  float v[4];
  load4(v, u + at);
  UNROLL
  for (int i = 0; i < 4; i++) v[i] = gelu(v[i], tanh_form);
  store4(g + at, v);
}

// du = du·gelu'(u).
KERNEL(THREADS) gelu_backward(elem* du, const elem* u, i64 n, int tanh_form) {
  i64 at = first_of_thread();
  if (at >= n) return;
  float v[4], x[4];
  load4(v, du + at);
  load4(x, u + at);
  UNROLL
  for (int i = 0; i < 4; i++) v[i] *= gelu_slope(x[i], tanh_form);
  store4(du + at, v);
}

// x (rows, width) += bias.
KERNEL(THREADS) add_bias(elem* x, const elem* bias, i64 n, int width) {
  i64 at = first_of_thread();
  if (at >= n) return;
  float v[4], b[4];
  load4(v, x + at);
  load4(b, bias + at % width);
  UNROLL
  for (int i = 0; i < 4; i++) v[i] += b[i];
  store4(x + at, v);
}

// x = tanh(x + bias): the pooler.
KERNEL(THREADS) tanh_forward(elem* x, const elem* bias, i64 n, int width) {
  i64 at = first_of_thread();
  if (at >= n) return;
  float v[4], b[4];
  load4(v, x + at);
  load4(b, bias + at % width);
  UNROLL
  for (int i = 0; i < 4; i++) v[i] = tanhf(v[i] + b[i]);
  store4(x + at, v);
}

// dx = dx·(1 − y²).
KERNEL(THREADS) tanh_backward(elem* dx, const elem* y, i64 n) {
  i64 at = first_of_thread();
  if (at >= n) return;
  float v[4], x[4];
  load4(v, dx + at);
  load4(x, y + at);
  UNROLL
  for (int i = 0; i < 4; i++) v[i] *= 1.f - x[i] * x[i];
  store4(dx + at, v);
}

// x += y.
KERNEL(THREADS) add(elem* x, const elem* y, i64 n) {
  i64 at = first_of_thread();
  if (at >= n) return;
  float v[4], w[4];
  load4(v, x + at);
  load4(w, y + at);
  UNROLL
  for (int i = 0; i < 4; i++) v[i] += w[i];
  store4(x + at, v);
}

// Rounds masters to the type that is computed with, and back.
KERNEL(THREADS) round_down(elem* y, const float* x, i64 n) {
  i64 at = first_of_thread();
  if (at >= n) return;
  float4 v = *(const float4*)(x + at);
  float w[4] = {v.x, v.y, v.z, v.w};
  store4(y + at, w);
}

KERNEL(THREADS) widen(float* y, const elem* x, i64 n) {
  i64 at = first_of_thread();
  if (at >= n) return;
  float v[4];
  load4(v, x + at);
  *(float4*)(y + at) = make_float4(v[0], v[1], v[2], v[3]);
}

// ---- sums of columns
//
// gridDim.y blocks share the rows out, each writes a row of part, and add_parts
// adds them up: every order is fixed. A block has 256 columns, a lane of it eight
// adjacent ones, and its eight warps take turns with the rows.

#define WARPS (THREADS / 32)
#define LANE_COLUMNS 8
#define HIGH 144                  // offset of the higher four columns of the lanes: other banks than the lower
#define SUMS (HIGH + 4 * 32)      // floats of a warp

// Share is the rows of a block.
struct Share { int first, last; };

DEV Share share_of_block(int rows) {
  int each = (rows + gridDim.y - 1) / gridDim.y, first = blockIdx.y * each;
  return Share{first, min(rows, first + each)};
}

// block_columns adds up the sums of the warps and writes them to the block's
// columns of to. Every thread of the block must call it.
DEV void block_columns(float* to, const float* v, int width) {
  __shared__ __align__(16) float sums[WARPS][SUMS];
  float* own = sums[threadIdx.x / 32] + threadIdx.x % 32 * 4;
  *(float4*)own = make_float4(v[0], v[1], v[2], v[3]);
  *(float4*)(own + HIGH) = make_float4(v[4], v[5], v[6], v[7]);
  __syncthreads(); // sums of the warps' columns are written
  int lane = threadIdx.x / LANE_COLUMNS, i = threadIdx.x % LANE_COLUMNS, column = blockIdx.x * THREADS + threadIdx.x;
  float sum = 0;
  UNROLL
  for (int w = 0; w < WARPS; w++) sum += sums[w][i < 4 ? lane * 4 + i : HIGH + lane * 4 + i - 4];
  if (column < width) to[column] = sum;
  __syncthreads(); // the sums may be overwritten
}

// The same for widths that are no multiple of eight: a thread a column.
DEV void narrow_columns(float* to, const elem* x, const elem* y, Share rows, int width) {
  int column = blockIdx.x * THREADS + threadIdx.x;
  if (column >= width) return;
  float sum = 0;
  for (int r = rows.first; r < rows.last; r++) {
    float v = value(x[(i64)r * width + column]);
    sum += y ? v * value(y[(i64)r * width + column]) : v;
  }
  to[column] = sum;
}

// part (blocks, width): sums of columns of x (rows, width), of x·y where y is not
// null.
KERNEL(THREADS) column_sums(float* part, const elem* x, const elem* y, int rows, int width) {
  Share share = share_of_block(rows);
  part += (i64)blockIdx.y * width;
  if (width % LANE_COLUMNS) {
    narrow_columns(part, x, y, share, width);
    return;
  }
  int column = blockIdx.x * THREADS + threadIdx.x % 32 * LANE_COLUMNS;
  float s[LANE_COLUMNS] = {};
  for (int r = share.first + threadIdx.x / 32; r < share.last && column < width; r += WARPS) {
    float v[LANE_COLUMNS], w[LANE_COLUMNS];
    load8(v, x + (i64)r * width + column);
    if (y) load8(w, y + (i64)r * width + column);
    UNROLL
    for (int i = 0; i < LANE_COLUMNS; i++) s[i] += y ? v[i] * w[i] : v[i];
  }
  block_columns(part, s, width);
}

// sum (width) += the rows of part (blocks, width). A block has 32 columns, and its warps take
// turns with the rows.
#define PART_COLUMNS 32
KERNEL(THREADS) add_parts(float* sum, const float* part, int blocks, int width) {
  __shared__ float sums[WARPS][PART_COLUMNS];
  int column = blockIdx.x * PART_COLUMNS + threadIdx.x % 32;
  float s = 0;
  if (column < width) {
#pragma unroll 8 // loads of eight parts are under way at once
    for (int b = threadIdx.x / 32; b < blocks; b += WARPS) s += part[(i64)b * width + column];
  }
  sums[threadIdx.x / 32][threadIdx.x % 32] = s;
  __syncthreads(); // sums of the warps are there
  if (threadIdx.x >= PART_COLUMNS || column >= width) return;
  s = 0;
  UNROLL
  for (int w = 0; w < WARPS; w++) s += sums[w][threadIdx.x];
  sum[column] += s;
}

// y (n, width): row i is row index[i] of x.
KERNEL(THREADS) gather_rows(elem* y, const elem* x, const int* index, int n, int width) {
  i64 at = first_of_thread();
  if (at >= (i64)n * width) return;
  float v[4];
  load4(v, x + (i64)index[at / width] * width + at % width);
  store4(y + at, v);
}

// add_rows adds rows of x (…, width) to rows of a table without atomics: row
// target[s] of the table gets the rows order[bounds[s]] … order[bounds[s+1]-1],
// in that order. The targets differ; blockIdx.y is s.
template <typename T> DEV void add_rows(T* table, const elem* x, const int* target, const int* bounds, const int* order, int width) {
  int column = blockIdx.x * THREADS + threadIdx.x, s = blockIdx.y;
  if (column >= width) return;
  float sum = 0;
  for (int i = bounds[s]; i < bounds[s + 1]; i++) sum += value(x[(i64)order[i] * width + column]);
  T* p = table + (i64)target[s] * width + column;
  if constexpr (sizeof(T) == 4) *p += sum;
  else *p = rounded(value(*p) + sum);
}

// Gradients of embeddings: the table is fp32.
KERNEL(THREADS) add_rows_f32(float* table, const elem* x, const int* target, const int* bounds, const int* order, int width) { add_rows(table, x, target, bounds, order, width); }

// Gradients of rows that a head read.
KERNEL(THREADS) add_rows_elem(elem* table, const elem* x, const int* target, const int* bounds, const int* order, int width) { add_rows(table, x, target, bounds, order, width); }
