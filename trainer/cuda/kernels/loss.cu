// Cross entropy of rows of logits: masked tokens a chunk at a time, next
// sentence, classes.
#include "dev.cuh"

#define THREADS 256

// A Best is a value and where it stands; of equal ones the first.
struct Best { float value; int at; };

DEV Best better(Best a, Best b) { return b.value > a.value || b.value == a.value && b.at < a.at ? b : a; }

// One block a row of logits (rows, stride), of which `classes` columns count: the
// others are padding and get gradient 0. The bias is added first. labels[row] < 0:
// no label, gradient 0.
//
// loss[row] = −log softmax(x)[label], hit[row] = 1 where the first of the largest
// logits is the label's. With gradient, x = coef·weight·scale·(softmax(x) −
// onehot(label)); weights may be null (1), and so may scale, the loss scale.
KERNEL(THREADS) cross_entropy(elem* x, const elem* bias, const int* labels, const float* weights, const float* scale, float* loss, float* hit, int classes, int stride, float coef, int gradient) {
  __shared__ float scratch[THREADS / 32];
  __shared__ Best tops[THREADS / 32];
  int row = blockIdx.x, label = labels[row];
  x += (i64)row * stride;
  if (label < 0) {
    if (gradient) {
      for (int i = threadIdx.x; i < stride; i += THREADS) x[i] = rounded(0.f);
    }
    if (threadIdx.x == 0) loss[row] = hit[row] = 0;
    return;
  }
  Best top = {__int_as_float(0xff800000), 0x7fffffff};
  for (int i = threadIdx.x; i < classes; i += THREADS) top = better(top, Best{value(x[i]) + value(bias[i]), i});
  UNROLL
  for (int o = 16; o; o >>= 1) top = better(top, Best{__shfl_xor_sync(0xffffffffu, top.value, o), __shfl_xor_sync(0xffffffffu, top.at, o)});
  if ((threadIdx.x & 31) == 0) tops[threadIdx.x >> 5] = top;
  __syncthreads(); // tops are written
  top = tops[0];
  for (int i = 1; i < THREADS / 32; i++) top = better(top, tops[i]);
  float sum = 0;
  for (int i = threadIdx.x; i < classes; i += THREADS) sum += expf(value(x[i]) + value(bias[i]) - top.value);
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) {
    loss[row] = logf(sum) + (top.value - (value(x[label]) + value(bias[label])));
    hit[row] = top.at == label;
  }
  if (!gradient) return;
  __syncthreads(); // the label's logit was read
  float c = coef * (weights ? weights[row] : 1.f) * (scale ? *scale : 1.f);
  for (int i = threadIdx.x; i < stride; i += THREADS) {
    float p = i < classes ? expf(value(x[i]) + value(bias[i]) - top.value) / sum : 0.f;
    x[i] = rounded(c * (i == label ? p - 1.f : p));
  }
}

// sums (3) += Σ weight·loss, Σ weight, Σ weight·hit over n rows with a label. One
// block, in double precision: the order is fixed.
KERNEL(THREADS) sum_losses(double* sums, const float* loss, const float* hit, const float* weights, const int* labels, int n) {
  __shared__ double part[3][THREADS];
  int t = threadIdx.x;
  double a = 0, b = 0, c = 0;
  for (int i = t; i < n; i += THREADS) {
    if (labels[i] < 0) continue;
    double w = weights ? weights[i] : 1.f;
    a += w * loss[i], b += w, c += w * hit[i];
  }
  part[0][t] = a, part[1][t] = b, part[2][t] = c;
  __syncthreads(); // parts are written
  if (t >= 3) return;
  double s = 0;
  for (int i = 0; i < THREADS; i++) s += part[t][i];
  sums[t] += s;
}
