// Losses: cross entropy of rows of logits (masked tokens a chunk at a time, next
// sentence, classes) and of the ends of spans; squared error.
#include "dev.cuh"

#define THREADS 256

// A Best is a value and where it stands; of equal ones the first.
struct Best { float value; int at; };

DEV Best better(Best a, Best b) { return b.value > a.value || b.value == a.value && b.at < a.at ? b : a; }

// Logits are the row that a block works on: class j is x[j·step], with the bias
// bias[j·bias_step].
struct Logits {
  elem* x;
  const elem* bias;
  int classes, step, bias_step;
};

DEV float logit(Logits l, int j) { return value(l.x[(i64)j * l.step]) + value(l.bias[j * l.bias_step]); }

// entropy returns the largest logit and sets the loss −log softmax[label]. With
// gradient, logits become factor·(softmax − onehot(label)). Every thread of the
// block must call it.
DEV Best entropy(float* loss, Logits l, int label, bool gradient, float factor) {
  __shared__ float scratch[THREADS / 32];
  __shared__ Best tops[THREADS / 32];
  Best top = {__int_as_float(0xff800000), 0x7fffffff};
  for (int i = threadIdx.x; i < l.classes; i += THREADS) top = better(top, Best{logit(l, i), i});
  UNROLL
  for (int o = 16; o; o >>= 1) top = better(top, Best{__shfl_xor_sync(0xffffffffu, top.value, o), __shfl_xor_sync(0xffffffffu, top.at, o)});
  if ((threadIdx.x & 31) == 0) tops[threadIdx.x >> 5] = top;
  __syncthreads(); // tops are written
  top = tops[0];
  for (int i = 1; i < THREADS / 32; i++) top = better(top, tops[i]);
  float sum = 0;
  for (int i = threadIdx.x; i < l.classes; i += THREADS) sum += expf(logit(l, i) - top.value);
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) *loss = logf(sum) + (top.value - logit(l, label));
  if (!gradient) return top;
  __syncthreads(); // the label's logit was read
  for (int i = threadIdx.x; i < l.classes; i += THREADS) {
    float p = expf(logit(l, i) - top.value) / sum;
    l.x[(i64)i * l.step] = rounded(factor * (i == label ? p - 1.f : p));
  }
  return top;
}

// One block a row of logits (rows, stride), of which `classes` columns count: the
// others are padding and get gradient 0. The bias is added first. labels[row] < 0:
// no label, gradient 0.
//
// loss[row] = −log softmax(x)[label], hit[row] = 1 where the first of the largest
// logits is the label's, best[row] that logit's column, −1 without a label; best
// may be null. With gradient, x = coef·weight·scale·(softmax(x) − onehot(label));
// weights may be null (1), and so may scale, the loss scale.
KERNEL(THREADS) cross_entropy(elem* x, const elem* bias, const int* labels, const float* weights, const float* scale, float* loss, float* hit, int* best, int classes, int stride, float coef, int gradient) {
  int row = blockIdx.x, label = labels[row];
  x += (i64)row * stride;
  Best top = {0, -1};
  if (label >= 0) {
    float factor = coef * (weights ? weights[row] : 1.f) * (scale ? *scale : 1.f);
    top = entropy(loss + row, Logits{x, bias, classes, 1, 1}, label, gradient, factor);
  } else if (threadIdx.x == 0) {
    loss[row] = 0;
  }
  if (gradient) {
    for (int i = threadIdx.x + (label < 0 ? 0 : classes); i < stride; i += THREADS) x[i] = rounded(0.f);
  }
  if (threadIdx.x == 0) {
    hit[row] = label >= 0 && top.at == label;
    if (best) best[row] = top.at;
  }
}

// Spans: logits (T, 2) are start and end of every token, bias (2). One block a
// sequence and end, blockIdx.y; labels (2, S) are places in the sequence. loss,
// hit (2, S) and the gradient are as in cross_entropy.
KERNEL(THREADS) span_entropy(elem* x, const elem* bias, const int* cu, const int* labels, const float* scale, float* loss, float* hit, float coef, int gradient) {
  int s = blockIdx.x, end = blockIdx.y, at = end * gridDim.x + s, label = labels[at], first = cu[s], n = cu[s + 1] - first;
  x += 2 * (i64)first + end;
  if (label < 0) {
    if (gradient) {
      for (int i = threadIdx.x; i < n; i += THREADS) x[2 * i] = rounded(0.f);
    }
    if (threadIdx.x == 0) loss[at] = hit[at] = 0;
    return;
  }
  Best top = entropy(loss + at, Logits{x, bias + end, n, 2, 0}, label, gradient, coef * (scale ? *scale : 1.f));
  if (threadIdx.x == 0) hit[at] = top.at == label;
}

// Regression: x (n) + bias (1) are scores; loss = (score − target)², and with
// gradient x = 2·coef·scale·(score − target). A target that is NaN counts nothing.
KERNEL(THREADS) squared_error(elem* x, const elem* bias, const float* targets, const float* scale, float* loss, int n, float coef, int gradient) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  float d = targets[i] == targets[i] ? value(x[i]) + value(bias[0]) - targets[i] : 0.f;
  loss[i] = d * d;
  if (gradient) x[i] = rounded(2.f * coef * (scale ? *scale : 1.f) * d);
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
