// The update: norm of the gradients, loss scale, AdamW, LAMB, StableAdamW. trainer/optim is the
// definition. Masters, moments and gradients are fp32 in flat buffers where every
// tensor begins at a multiple of 64; padding is zero.
#include "dev.cuh"

#define THREADS 256
#define PART 4096 // elements of a part: the unit of sums

// Control is the state of the update on the device, so that no step waits for the
// host. A step whose gradients are not finite changes nothing but the loss scale.
struct Control {
  double beta1_power, beta2_power; // β to the number of updates done
  float norm;                      // of the unscaled gradients; not finite: this step is skipped
  float factor;                    // of gradients: unscales and clips
  float loss_scale, c1, c2;        // bias corrections
  u32 step, good, skipped;
};

// Rule is the numbers of the update; see trainer/optim.Constants.
struct Rule {
  float beta1, rest1, beta2, rest2, epsilon, decay, rate, clip;
  u32 correct;  // the moments' bias
  u32 growth;   // updates after which the loss scale doubles; 0: it is fixed
};

// A Part is up to PART elements of one tensor.
struct Part {
  i64 first;
  int n, tensor;
};

// sums (parts): sums of squares of x.
KERNEL(THREADS) sum_squares(float* sums, const float* x, const Part* parts) {
  __shared__ float scratch[THREADS / 32];
  Part p = parts[blockIdx.x];
  float s = 0;
  for (int i = threadIdx.x * 4; i < p.n; i += THREADS * 4) {
    float4 v = *(const float4*)(x + p.first + i);
    s += v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w);
  }
  s = block_sum(s, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = s;
}

// begin_update sets norm, factor and the corrections of a step, and the loss scale
// of the next: halved after gradients that were not finite, doubled after
// rule.growth good steps. One block.
KERNEL(THREADS) begin_update(Control* c, const float* sums, int parts, Rule rule) {
  __shared__ double part[THREADS];
  double s = 0;
  for (int i = threadIdx.x; i < parts; i += THREADS) s += sums[i];
  part[threadIdx.x] = s;
  __syncthreads(); // parts are written
  if (threadIdx.x) return;
  s = 0;
  for (int i = 0; i < THREADS; i++) s += part[i];
  float norm = (float)(sqrt(s) / c->loss_scale);
  c->norm = norm;
  c->factor = (rule.clip > 0 && norm > rule.clip ? rule.clip / norm : 1.f) / c->loss_scale;
  if (!(norm <= 3.4e38f)) {
    c->skipped++;
    c->good = 0;
    if (rule.growth) c->loss_scale *= 0.5f;
    return;
  }
  c->step++;
  c->beta1_power *= rule.beta1;
  c->beta2_power *= rule.beta2;
  c->c1 = rule.correct ? (float)(1 / (1 - c->beta1_power)) : 1.f;
  c->c2 = rule.correct ? (float)(1 / (1 - c->beta2_power)) : 1.f;
  if (++c->good == rule.growth) {
    c->good = 0;
    c->loss_scale *= 2.f;
  }
}

// moments updates m and v by q and returns the direction without decay.
DEV float direction(float q, float* m, float* v, Rule r, const Control* c) {
  *m = r.beta1 * *m + r.rest1 * q;
  *v = r.beta2 * *v + r.rest2 * (q * q);
  return c->c1 * *m / (sqrtf(c->c2 * *v) + r.epsilon);
}

DEV void get4(float* v, const float* p) {
  float4 x = *(const float4*)p;
  v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}
DEV void set4(float* p, const float* v) { *(float4*)p = make_float4(v[0], v[1], v[2], v[3]); }

// One block a part: AdamW, the copy that is computed with, and g = 0.
// decays[tensor] says whether a tensor decays.
KERNEL(THREADS) adamw(float* w, float* m, float* v, float* g, elem* copy, const u8* decays, const Part* parts, const Control* c, Rule r) {
  Part p = parts[blockIdx.x];
  bool skip = !(c->norm <= 3.4e38f);
  float decay = decays[p.tensor] ? r.decay : 0.f, zero[4] = {};
  for (int i = threadIdx.x * 4; i < p.n; i += THREADS * 4) {
    i64 at = p.first + i;
    float G[4], W[4], M[4], V[4];
    get4(G, g + at);
    set4(g + at, zero);
    if (skip) continue;
    get4(W, w + at), get4(M, m + at), get4(V, v + at);
    UNROLL
    for (int k = 0; k < 4; k++) W[k] -= r.rate * (direction(G[k] * c->factor, M + k, V + k, r, c) + decay * W[k]);
    set4(w + at, W), set4(m + at, M), set4(v + at, V);
    store4(copy + at, W);
  }
}

// LAMB's direction replaces g; squares (parts, 2) are the sums of squares of the
// weights and of the direction.
KERNEL(THREADS) lamb_direction(float* squares, const float* w, float* m, float* v, float* g, const u8* decays, const Part* parts, const Control* c, Rule r) {
  __shared__ float scratch[THREADS / 32];
  Part p = parts[blockIdx.x];
  bool skip = !(c->norm <= 3.4e38f);
  float decay = decays[p.tensor] ? r.decay : 0.f, ww = 0, uu = 0;
  for (int i = threadIdx.x * 4; i < p.n && !skip; i += THREADS * 4) {
    i64 at = p.first + i;
    float G[4], W[4], M[4], V[4];
    get4(G, g + at), get4(W, w + at), get4(M, m + at), get4(V, v + at);
    UNROLL
    for (int k = 0; k < 4; k++) {
      G[k] = direction(G[k] * c->factor, M + k, V + k, r, c) + decay * W[k];
      ww += W[k] * W[k], uu += G[k] * G[k];
    }
    set4(g + at, G), set4(m + at, M), set4(v + at, V);
  }
  ww = block_sum(ww, scratch);
  uu = block_sum(uu, scratch);
  if (threadIdx.x == 0) squares[2 * blockIdx.x] = ww, squares[2 * blockIdx.x + 1] = uu;
}

// ratios (tensors): LAMB's trust ratio ‖w‖/‖u‖; 1 where either is 0 or the tensor
// does not decay. The parts of tensor t are bounds[t] … bounds[t+1]-1. A thread a
// tensor.
KERNEL(THREADS) lamb_ratios(float* ratios, const float* squares, const int* bounds, const u8* decays, int tensors) {
  int t = blockIdx.x * THREADS + threadIdx.x;
  if (t >= tensors) return;
  double w = 0, u = 0;
  for (int i = bounds[t]; i < bounds[t + 1]; i++) w += squares[2 * i], u += squares[2 * i + 1];
  ratios[t] = decays[t] && w > 0 && u > 0 ? (float)(sqrt(w) / sqrt(u)) : 1.f;
}

// w −= rate·ratio·u with u in g, the copy that is computed with, and g = 0.
KERNEL(THREADS) lamb_move(float* w, float* g, elem* copy, const float* ratios, const Part* parts, const Control* c, Rule r) {
  Part p = parts[blockIdx.x];
  bool skip = !(c->norm <= 3.4e38f);
  float by = r.rate * ratios[p.tensor], zero[4] = {};
  for (int i = threadIdx.x * 4; i < p.n; i += THREADS * 4) {
    i64 at = p.first + i;
    float G[4], W[4];
    get4(G, g + at);
    set4(g + at, zero);
    if (skip) continue;
    get4(W, w + at);
    UNROLL
    for (int k = 0; k < 4; k++) W[k] -= by * G[k];
    set4(w + at, W);
    store4(copy + at, W);
  }
}

// StableAdamW's direction replaces g. squares (parts, 2) are Σ q²/max(v̂, ε²) and the
// number of elements. lamb_move ends the update.
KERNEL(THREADS) stable_direction(float* squares, const float* w, float* m, float* v, float* g, const u8* decays, const Part* parts, const Control* c, Rule r) {
  __shared__ float scratch[THREADS / 32];
  Part p = parts[blockIdx.x];
  bool skip = !(c->norm <= 3.4e38f);
  float decay = decays[p.tensor] ? r.decay : 0.f, excess = 0;
  for (int i = threadIdx.x * 4; i < p.n && !skip; i += THREADS * 4) {
    i64 at = p.first + i;
    float G[4], W[4], M[4], V[4];
    get4(G, g + at), get4(W, w + at), get4(M, m + at), get4(V, v + at);
    UNROLL
    for (int k = 0; k < 4; k++) {
      float q = G[k] * c->factor;
      G[k] = direction(q, M + k, V + k, r, c) + decay * W[k];
      excess += q * q / fmaxf(c->c2 * V[k], r.epsilon * r.epsilon);
    }
    set4(g + at, G), set4(m + at, M), set4(v + at, V);
  }
  excess = block_sum(excess, scratch);
  if (threadIdx.x == 0) squares[2 * blockIdx.x] = excess, squares[2 * blockIdx.x + 1] = p.n;
}

// ratios (tensors): what StableAdamW divides each tensor's rate by, inverted: 1 over the
// root of the mean of q²/max(v̂, ε²), at most 1. A thread a tensor.
KERNEL(THREADS) stable_ratios(float* ratios, const float* squares, const int* bounds, int tensors) {
  int t = blockIdx.x * THREADS + threadIdx.x;
  if (t >= tensors) return;
  double excess = 0, n = 0;
  for (int i = bounds[t]; i < bounds[t + 1]; i++) excess += squares[2 * i], n += squares[2 * i + 1];
  ratios[t] = 1.f / fmaxf(1.f, (float)sqrt(excess / n));
}
