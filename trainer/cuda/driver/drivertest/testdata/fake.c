// A libcuda, a libcublasLt and a libnccl for tests, which the test compiles:
// -DFAKE_CUDA makes the first, -DFAKE_BLAS the second, -DFAKE_NCCL the third. Device
// memory is host memory, copies, products and collectives of one rank are computed,
// kernels are not run.
//
// Every call appends a line with all its arguments to the file $FAKE_LOG. Calls
// are counted over all libraries; call $FAKE_FAIL_AT returns $FAKE_FAIL_CODE and
// does nothing, and so does every call of the function $FAKE_FAIL.
// Functions that need a current context return CUDA_ERROR_INVALID_CONTEXT on a
// thread without one. Handles that are not alive are refused.
#define _GNU_SOURCE
#include "../../api.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500 };

static int setting(const char *name, int otherwise) {
	const char *text = getenv(name);
	return text && *text ? atoi(text) : otherwise;
}

#ifdef FAKE_CUDA

static __thread CUcontext now;
static int has_context(void);
static int calls;

// Communicators that are alive, which the libnccl beside this library counts here.
EXPORT int fake_communicators;

// busy returns CUDA_ERROR_NOT_READY for the first $FAKE_BUSY times since it was set.
static int busy(void) {
	static int asked;
	int most = setting("FAKE_BUSY", 0);
	if (asked++ < most)
		return CUDA_ERROR_NOT_READY;
	asked = 0;
	return 0;
}

// fake_called notes a call and returns the code with which it is to fail.
EXPORT int fake_called(int context, const char *name, const char *format, va_list args) {
	FILE *log = fopen(getenv("FAKE_LOG"), "a");
	fprintf(log, "%s", name);
	vfprintf(log, format, args);
	fprintf(log, "\n");
	fclose(log);
	const char *bad = getenv("FAKE_FAIL");
	if (++calls == setting("FAKE_FAIL_AT", 0) || (bad && strcmp(bad, name) == 0))
		return setting("FAKE_FAIL_CODE", 999);
	return context && !has_context() ? INVALID_CONTEXT : 0;
}

static int called(int context, const char *name, const char *format, ...) {
	va_list args;
	va_start(args, format);
	int r = fake_called(context, name, format, args);
	va_end(args);
	return r;
}

// CALL begins a function that needs a context, EARLY one that does not.
#define CALL(...) { int r_ = called(1, __func__, " " __VA_ARGS__); if (r_) return r_; }
#define EARLY(...) { int r_ = called(0, __func__, " " __VA_ARGS__); if (r_) return r_; }

// What is alive.
enum kind { MEMORY, HOST, STREAM, EVENT, MODULE, FUNCTION, CONTEXT, KINDS };
static struct { enum kind kind; char *start; size_t bytes; } live[4096];
static int used;

static void *born(enum kind kind, size_t bytes) {
	char *p = aligned_alloc(256, (bytes + 511) & ~(size_t)255);
	memset(p, 0xaa, bytes);
	live[used].kind = kind, live[used].start = p, live[used].bytes = bytes;
	used++;
	return p;
}

// within returns the index of what is alive and holds [p, p+bytes), -1 if nothing does.
static int within(enum kind kind, const void *p, size_t bytes) {
	for (int i = 0; i < used; i++)
		if (live[i].kind == kind && (char *)p >= live[i].start && (char *)p + bytes <= live[i].start + live[i].bytes)
			return i;
	return -1;
}

static int died(enum kind kind, const void *p) {
	int i = within(kind, p, 0);
	if (i < 0 || live[i].start != p)
		return INVALID_HANDLE;
	free(live[i].start);
	live[i] = live[--used];
	return 0;
}

static int alive(enum kind kind, const void *p) { return within(kind, p, 1) >= 0; }
static int has_context(void) { return alive(CONTEXT, now); }

EXPORT CUresult cuInit(unsigned flags) { EARLY("flags=%u", flags) return setting("FAKE_DEVICES", 1) == 0 ? CUDA_ERROR_NO_DEVICE : 0; }
EXPORT CUresult cuDriverGetVersion(int *version) { EARLY("") *version = setting("FAKE_VERSION", 12080); return 0; }
EXPORT CUresult cuGetErrorName(CUresult code, const char **text) {
	static char name[64];
	snprintf(name, sizeof name, code == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE_%d", code);
	*text = name;
	return 0;
}
EXPORT CUresult cuGetErrorString(CUresult code, const char **text) { *text = code == 998 ? NULL : "as the test asked for"; return code == 998 ? INVALID_VALUE : 0; }
EXPORT CUresult cuDeviceGetCount(int *n) { EARLY("") *n = setting("FAKE_DEVICES", 1); return 0; }
EXPORT CUresult cuDeviceGet(CUdevice *d, int ordinal) { EARLY("ordinal=%d", ordinal) *d = 70 + ordinal; return 0; }
EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice d) { EARLY("size=%d device=%d", size, d) snprintf(name, size, "Fake GPU %d", d); return 0; }
EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice d) { EARLY("device=%d", d) *bytes = (size_t)setting("FAKE_MEMORY_MB", 80 << 10) << 20; return 0; }
EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice d) {
	EARLY("attribute=%d device=%d", a, d)
	*value = a == 75 ? setting("FAKE_MAJOR", 9) : a == 76 ? 0 : 1000 + a;
	return 0;
}
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { EARLY("device=%d", d) *c = born(CONTEXT, 8); return 0; }
EXPORT CUresult cuCtxSetCurrent(CUcontext c) {
	EARLY("alive=%d", alive(CONTEXT, c))
	if (!alive(CONTEXT, c))
		return INVALID_CONTEXT;
	now = c;
	return 0;
}
EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) {
	EARLY("device=%d", d)
	for (int i = 0; i < used; i++)
		if (live[i].kind == CONTEXT) {
			died(CONTEXT, live[i].start);
			break;
		}
	now = NULL; // on this thread; others find out by cuCtxSetCurrent
	if (fake_communicators > 0)
		called(0, "LEAK", " communicators=%d", fake_communicators);
	for (int i = 0; i < used; i++)
		if (live[i].kind != FUNCTION)
			called(0, "LEAK", " kind=%d bytes=%zu", live[i].kind, live[i].bytes);
	return 0;
}
EXPORT CUresult cuMemGetInfo_v2(size_t *available, size_t *total) { CALL("") *available = 1234, *total = 5678; return 0; }
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { CALL("bytes=%zu", n) *p = (CUdeviceptr)born(MEMORY, n); return 0; }
EXPORT CUresult cuMemFree_v2(CUdeviceptr p) { CALL("p=%llx", p) return died(MEMORY, (void *)p); }
EXPORT CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags) { CALL("bytes=%zu flags=%u", n, flags) *p = born(HOST, n); return 0; }
EXPORT CUresult cuMemFreeHost(void *p) { CALL("p=%llx", (CUdeviceptr)p) return died(HOST, p); }
EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s) {
	CALL("to=%llx from=%llx bytes=%zu stream=%llx", to, (CUdeviceptr)from, n, (CUdeviceptr)s)
	if (within(MEMORY, (void *)to, n) < 0 || within(HOST, from, n) < 0 || !alive(STREAM, s))
		return INVALID_VALUE;
	memcpy((void *)to, from, n);
	return 0;
}
EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s) {
	CALL("to=%llx from=%llx bytes=%zu stream=%llx", (CUdeviceptr)to, from, n, (CUdeviceptr)s)
	if (within(HOST, to, n) < 0 || within(MEMORY, (void *)from, n) < 0 || !alive(STREAM, s))
		return INVALID_VALUE;
	memcpy(to, (void *)from, n);
	((char *)to)[n / 2] ^= setting("FAKE_FAULTY", 0);
	return 0;
}
EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
	CALL("to=%llx from=%llx bytes=%zu stream=%llx", to, from, n, (CUdeviceptr)s)
	if (within(MEMORY, (void *)to, n) < 0 || within(MEMORY, (void *)from, n) < 0 || !alive(STREAM, s))
		return INVALID_VALUE;
	memcpy((void *)to, (void *)from, n);
	return 0;
}
EXPORT CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char value, size_t n, CUstream s) {
	CALL("p=%llx value=%d bytes=%zu stream=%llx", p, value, n, (CUdeviceptr)s)
	if (within(MEMORY, (void *)p, n) < 0 || !alive(STREAM, s))
		return INVALID_VALUE;
	memset((void *)p, value, n);
	return 0;
}
EXPORT CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, CUjit_option *keys, void **values) {
	int r = called(1, __func__, " image=%zu options=%u keys=%d,%d size=%zu", strlen(image), n, keys[0], keys[1], (size_t)values[1]);
	if (r) {
		snprintf(values[0], (size_t)values[1], "ptxas: line 7: %.20s\n", (const char *)image);
		return r;
	}
	*m = born(MODULE, strlen(image) + 1);
	strcpy(*m, image);
	return 0;
}
EXPORT CUresult cuModuleUnload(CUmodule m) { CALL("module=%llx", (CUdeviceptr)m) return died(MODULE, m); }
EXPORT CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
	CALL("module=%llx name=%s", (CUdeviceptr)m, name)
	char entry[256];
	snprintf(entry, sizeof entry, ".entry %s(", name);
	if (!alive(MODULE, m))
		return INVALID_HANDLE;
	if (strstr(m, entry) == NULL)
		return NOT_FOUND;
	*f = born(FUNCTION, 8);
	return 0;
}
EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f) {
	CALL("attribute=%d function=%llx", a, (CUdeviceptr)f)
	*value = 2000 + a;
	return alive(FUNCTION, f) ? 0 : INVALID_HANDLE;
}
EXPORT CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value) {
	CALL("function=%llx attribute=%d value=%d", (CUdeviceptr)f, a, value)
	return alive(FUNCTION, f) ? 0 : INVALID_HANDLE;
}
EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **params, void **extra) {
	char hex[8192] = "";
	unsigned char *bytes = NULL;
	size_t n = 0;
	for (void **e = extra; e && *e != CU_LAUNCH_PARAM_END; e += 2) {
		if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
			bytes = e[1];
		else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
			n = *(size_t *)e[1];
		else
			return INVALID_VALUE;
	}
	for (size_t i = 0; i < n; i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
	CALL("function=%llx grid=%u,%u,%u block=%u,%u,%u shared=%u stream=%llx params=%llx args=%s", (CUdeviceptr)f, gx, gy, gz, bx, by, bz, shared, (CUdeviceptr)s, (CUdeviceptr)params, hex)
	return alive(FUNCTION, f) && alive(STREAM, s) ? 0 : INVALID_HANDLE;
}
EXPORT CUresult cuStreamCreate(CUstream *s, unsigned flags) { CALL("flags=%u", flags) *s = born(STREAM, 8); return 0; }
EXPORT CUresult cuStreamDestroy_v2(CUstream s) { CALL("stream=%llx", (CUdeviceptr)s) return died(STREAM, s); }
EXPORT CUresult cuStreamSynchronize(CUstream s) { CALL("stream=%llx", (CUdeviceptr)s) return alive(STREAM, s) ? 0 : INVALID_HANDLE; }
EXPORT CUresult cuStreamQuery(CUstream s) { CALL("stream=%llx", (CUdeviceptr)s) return alive(STREAM, s) ? busy() : INVALID_HANDLE; }
EXPORT CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags) { CALL("stream=%llx event=%llx flags=%u", (CUdeviceptr)s, (CUdeviceptr)e, flags) return alive(STREAM, s) && alive(EVENT, e) ? 0 : INVALID_HANDLE; }
EXPORT CUresult cuEventCreate(CUevent *e, unsigned flags) { CALL("flags=%u", flags) *e = born(EVENT, 8); return 0; }
EXPORT CUresult cuEventDestroy_v2(CUevent e) { CALL("event=%llx", (CUdeviceptr)e) return died(EVENT, e); }
EXPORT CUresult cuEventRecord(CUevent e, CUstream s) { CALL("event=%llx stream=%llx", (CUdeviceptr)e, (CUdeviceptr)s) return alive(STREAM, s) && alive(EVENT, e) ? 0 : INVALID_HANDLE; }
EXPORT CUresult cuEventSynchronize(CUevent e) { CALL("event=%llx", (CUdeviceptr)e) return alive(EVENT, e) ? 0 : INVALID_HANDLE; }
EXPORT CUresult cuEventQuery(CUevent e) { CALL("event=%llx", (CUdeviceptr)e) return alive(EVENT, e) ? busy() : INVALID_HANDLE; }
EXPORT CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) { CALL("from=%llx to=%llx", (CUdeviceptr)from, (CUdeviceptr)to) *ms = 1.5f; return alive(EVENT, from) && alive(EVENT, to) ? 0 : INVALID_HANDLE; }

#endif
#ifndef FAKE_CUDA

// beside returns a symbol of the libcuda beside this library, which counts the calls
// and knows the context.
static void *beside(const char *name) {
	Dl_info here;
	char path[4096];
	dladdr((void *)beside, &here);
	snprintf(path, sizeof path, "%.*s/libcuda.so.1", (int)(strrchr(here.dli_fname, '/') - here.dli_fname), here.dli_fname);
	return dlsym(dlopen(path, RTLD_NOW), name);
}

static int called(int context, const char *name, const char *format, ...) {
	static int (*note)(int, const char *, const char *, va_list);
	if (note == NULL)
		*(void **)&note = beside("fake_called");
	va_list args;
	va_start(args, format);
	int r = note(context, name, format, args);
	va_end(args);
	return r;
}
#define CALL(...) { int r_ = called(1, __func__, " " __VA_ARGS__); if (r_) return r_; }
#define EARLY(...) { int r_ = called(0, __func__, " " __VA_ARGS__); if (r_) return r_; }

#endif
#ifdef FAKE_BLAS

struct desc { int magic, compute, scale, transA, transB, epilogue; uint64_t bias, aux; int64_t auxLD; };
struct layout { int magic, type; uint64_t rows, cols; int64_t ld; };
struct preference { int magic; uint64_t workspace; uint32_t alignment[4]; };
enum { DESC = 0x11, LAYOUT = 0x22, PREFERENCE = 0x33, HANDLE = 0x44 };

static int objects; // alive, but for handles
static void *make(int magic, size_t n) { int *p = calloc(1, n); *p = magic; objects += magic != HANDLE; return p; }
static int destroy(void *p, int magic) {
	if (*(int *)p != magic)
		return CUBLAS_STATUS_INVALID_VALUE;
	*(int *)p = 0; // not freed: a second time is refused
	objects -= magic != HANDLE;
	return 0;
}
static uint64_t number(const void *value, size_t n) { uint64_t v = 0; memcpy(&v, value, n); return v; }

EXPORT size_t cublasLtGetVersion(void) { return setting("FAKE_BLAS_VERSION", 120604); }
EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *h) { CALL("") *h = make(HANDLE, 8); return 0; }
EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) {
	CALL("")
	if (objects > 0)
		called(0, "LEAK", " descriptors=%d", objects);
	return destroy(h, HANDLE);
}
EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute, cudaDataType scale) {
	CALL("compute=%d scale=%d", compute, scale)
	struct desc *p = *d = make(DESC, sizeof *p);
	p->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
	return 0;
}
EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { CALL("") return destroy(d, DESC); }
EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a, const void *value, size_t n) {
	CALL("attribute=%d value=%llx bytes=%zu", a, (unsigned long long)number(value, n), n)
	struct desc *p = d;
	uint64_t v = number(value, n);
	switch (a) { // the sizes are those of cublasLt.h
	case 3: p->transA = v; return n == 4 ? 0 : CUBLAS_STATUS_INVALID_VALUE;
	case 4: p->transB = v; return n == 4 ? 0 : CUBLAS_STATUS_INVALID_VALUE;
	case 7: p->epilogue = v; return n == 4 ? 0 : CUBLAS_STATUS_INVALID_VALUE;
	case 8: p->bias = v; return n == 8 ? 0 : CUBLAS_STATUS_INVALID_VALUE;
	case 11: p->aux = v; return n == 8 ? 0 : CUBLAS_STATUS_INVALID_VALUE;
	case 17: case 18: return n == 8 ? 0 : CUBLAS_STATUS_INVALID_VALUE;
	case 12: p->auxLD = v; return n == 8 ? 0 : CUBLAS_STATUS_INVALID_VALUE;
	}
	return CUBLAS_STATUS_INVALID_VALUE;
}
EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld) {
	CALL("type=%d rows=%llu cols=%llu ld=%lld", type, (unsigned long long)rows, (unsigned long long)cols, (long long)ld)
	struct layout *p = *l = make(LAYOUT, sizeof *p);
	p->type = type, p->rows = rows, p->cols = cols, p->ld = ld;
	return 0;
}
EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { CALL("") return destroy(l, LAYOUT); }
EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *f) { CALL("") *f = make(PREFERENCE, sizeof(struct preference)); return 0; }
EXPORT cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t f) { CALL("") return destroy(f, PREFERENCE); }
EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t f, cublasLtMatmulPreferenceAttributes_t a, const void *value, size_t n) {
	CALL("attribute=%d value=%llx bytes=%zu", a, (unsigned long long)number(value, n), n)
	struct preference *p = f;
	if (a == 1 && n == 8)
		p->workspace = number(value, n);
	else if (a < 5 || a > 8 || n != 4)
		return CUBLAS_STATUS_INVALID_VALUE;
	return 0;
}

// The algorithm with number n; the first that may be chosen is 2.
static cublasLtMatmulAlgo_t algorithm(int n) {
	cublasLtMatmulAlgo_t a;
	for (int i = 0; i < 8; i++)
		a.data[i] = 0x0102030405060700 + 16 * n + i;
	return a;
}
EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t out, cublasLtMatmulPreference_t f, int wanted, cublasLtMatmulHeuristicResult_t *results, int *found) {
	struct preference *p = f;
	CALL("workspace=%llu wanted=%d kinds=%x,%x,%x,%x,%x,%x,%x", (unsigned long long)p->workspace, wanted, *(int *)h, *(int *)d, *(int *)a, *(int *)b, *(int *)c, *(int *)out, *(int *)f)
	*found = setting("FAKE_FOUND", 4);
	for (int i = 0; i < *found; i++) {
		results[i].algo = algorithm(i);
		results[i].workspaceSize = i == 1 ? p->workspace + 1 : (size_t)(100 + i);
		results[i].state = i == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : 0;
		results[i].wavesCount = 0.5f;
	}
	return 0;
}
EXPORT cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t out, const cublasLtMatmulAlgo_t *x, cublasLtMatmulHeuristicResult_t *result) {
	CALL("kinds=%x,%x,%x,%x,%x,%x algorithm=%llx", *(int *)h, *(int *)d, *(int *)a, *(int *)b, *(int *)c, *(int *)out, (unsigned long long)x->data[0])
	int n = (x->data[0] - 0x0102030405060700) / 16;
	cublasLtMatmulAlgo_t same = algorithm(n);
	if (memcmp(&same, x, sizeof same) != 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	result->algo = *x, result->workspaceSize = 100 + n, result->state = 0;
	return 0;
}

// at returns an element of op(x) of a single-precision matrix.
static float *at(struct layout *l, const void *x, int trans, int row, int col) {
	return (float *)x + (trans ? col + row * l->ld : row + col * l->ld);
}
static double gelu(double x) { return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
static double slope(double x) {
	double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
	return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}
EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t desc, const void *alpha, const void *a, cublasLtMatrixLayout_t aL, const void *b, cublasLtMatrixLayout_t bL, const void *beta, const void *c, cublasLtMatrixLayout_t cL, void *d, cublasLtMatrixLayout_t dL, const cublasLtMatmulAlgo_t *x, void *workspace, size_t n, cudaStream_t s) {
	CALL("kinds=%x,%x,%x,%x,%x,%x alpha=%g a=%llx b=%llx beta=%g c=%llx d=%llx algorithm=%llx workspace=%llx bytes=%zu stream=%llx",
		*(int *)h, *(int *)desc, *(int *)aL, *(int *)bL, *(int *)cL, *(int *)dL, *(float *)alpha, (CUdeviceptr)a, (CUdeviceptr)b, *(float *)beta, (CUdeviceptr)c, (CUdeviceptr)d, (unsigned long long)x->data[0], (CUdeviceptr)workspace, n, (CUdeviceptr)s)
	struct desc *p = desc;
	struct layout *la = aL, *lb = bL, *lc = cL, *ld = dL;
	int M = ld->rows, N = ld->cols, K = p->transA ? la->rows : la->cols;
	if (la->type != CUDA_R_32F || ld->type != CUDA_R_32F)
		return 0; // other types are looked at by the test, not computed
	if ((int)(p->transA ? la->cols : la->rows) != M || (int)(p->transB ? lb->cols : lb->rows) != K || (int)(p->transB ? lb->rows : lb->cols) != N)
		return CUBLAS_STATUS_INVALID_VALUE;
	float *bias = (float *)p->bias, *aux = (float *)p->aux;
	int e = p->epilogue;
	for (int i = 0; i < N && e == CUBLASLT_EPILOGUE_BGRADB; i++) {
		bias[i] = 0;
		for (int k = 0; k < K; k++)
			bias[i] += *at(lb, b, p->transB, k, i);
	}
	for (int i = 0; i < M; i++) {
		double sum = 0;
		for (int k = 0; k < K && e == CUBLASLT_EPILOGUE_BGRADA; k++)
			sum += *at(la, a, p->transA, i, k);
		for (int j = 0; j < N; j++) {
			double v = 0;
			for (int k = 0; k < K; k++)
				v += (double)*at(la, a, p->transA, i, k) * *at(lb, b, p->transB, k, j);
			v *= *(float *)alpha;
			if (*(float *)beta != 0)
				v += *(float *)beta * *at(lc, c, 0, i, j);
			if (e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
				v += bias[i];
			if (e == CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
				aux[i + j * p->auxLD] = v, v = gelu(v);
			if (e == CUBLASLT_EPILOGUE_DGELU || e == CUBLASLT_EPILOGUE_DGELU_BGRAD)
				v *= slope(aux[i + j * p->auxLD]);
			if (e == CUBLASLT_EPILOGUE_DGELU_BGRAD)
				sum += v;
			*at(ld, d, 0, i, j) = v;
		}
		if (e == CUBLASLT_EPILOGUE_BGRADA || e == CUBLASLT_EPILOGUE_DGELU_BGRAD)
			bias[i] = sum;
	}
	return 0;
}

#endif
#ifdef FAKE_NCCL

// A communicator is in progress for the first $FAKE_NCCL_BUSY questions after each
// call. $FAKE_NCCL_STATE is then its state.
struct comm { int magic, ranks, rank, asked, finalized; };
enum { COMM = 0x55, GONE = 0x66 };
static __thread int group; // ncclGroupStart without ncclGroupEnd

static int is_alive(struct comm *c) { return c != NULL && c->magic == COMM; }
static int freed(struct comm *c) {
	if (!is_alive(c))
		return ncclInvalidArgument;
	c->magic = GONE; // not freed: a second time is refused
	--*(int *)beside("fake_communicators");
	return 0;
}

EXPORT const char *ncclGetLastError(ncclComm_t c) { return c == NULL ? "as the test asked NCCL for" : "?"; }
EXPORT ncclResult_t ncclGetVersion(int *version) { EARLY("") *version = setting("FAKE_NCCL_VERSION", 22105); return 0; }
EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
	CALL("")
	for (int i = 0; i < NCCL_UNIQUE_ID_BYTES; i++)
		id->internal[i] = i + 1;
	return 0;
}
EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config) {
	int sum = 0;
	for (int i = 0; i < NCCL_UNIQUE_ID_BYTES; i++)
		sum += (i + 1) * (unsigned char)id.internal[i];
	CALL("ranks=%d id=%d rank=%d size=%zu magic=%x version=%u blocking=%d", ranks, sum, rank, config->size, config->magic, config->version, config->blocking)
	struct comm *c = *comm = calloc(1, sizeof *c);
	c->magic = COMM, c->ranks = ranks, c->rank = rank;
	++*(int *)beside("fake_communicators");
	return ncclInProgress;
}
EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
	struct comm *c = comm;
	CALL("alive=%d", is_alive(c))
	if (!is_alive(c))
		return ncclInvalidArgument;
	*state = c->asked++ < setting("FAKE_NCCL_BUSY", 0) ? ncclInProgress : setting("FAKE_NCCL_STATE", ncclSuccess);
	return 0;
}
EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm) {
	struct comm *c = comm;
	CALL("alive=%d", is_alive(c))
	if (!is_alive(c))
		return ncclInvalidArgument;
	c->finalized = 1, c->asked = 0;
	return ncclInProgress;
}
EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm) {
	struct comm *c = comm;
	CALL("finalized=%d", c->finalized)
	return freed(c);
}
EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm) { EARLY("") return freed(comm); }
EXPORT ncclResult_t ncclGroupStart(void) { CALL("") group++; return 0; }
EXPORT ncclResult_t ncclGroupEnd(void) {
	int was = group;
	group = 0;
	CALL("")
	return was == 1 ? ncclInProgress : ncclInvalidUsage;
}

// collective is what all of them have in common. For a single rank all of them copy.
static int collective(const void *send, void *receive, size_t bytes, struct comm *c) {
	if (!is_alive(c) || c->finalized || group != 1)
		return ncclInvalidUsage;
	c->asked = 0;
	if (c->ranks == 1)
		memmove(receive, send, bytes);
	return 0;
}
static size_t size_of(ncclDataType_t type) { return type == ncclFloat32 ? 4 : 2; }
#define COLLECTIVE(format, ...) \
	CALL("send=%llx receive=%llx count=%zu type=%d " format "rank=%d stream=%llx", (CUdeviceptr)send, (CUdeviceptr)receive, count, type, __VA_ARGS__ ((struct comm *)comm)->rank, (CUdeviceptr)stream) \
	return collective(send, receive, count * size_of(type), comm);
#define AND ,
EXPORT ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) { COLLECTIVE("op=%d ", op AND) }
EXPORT ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) { COLLECTIVE("op=%d ", op AND) }
EXPORT ncclResult_t ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) { COLLECTIVE("", ) }
EXPORT ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream) { COLLECTIVE("root=%d ", root AND) }

#endif
