//go:build cgo && linux

#define _GNU_SOURCE
#include "gpu.h"

#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The context that this thread has made current, by its number: a context that
// is closed and another one may have the same address.
static __thread uint64_t current;

// enter makes the device's context current. A goroutine moves between threads, so
// every call begins with it; it costs a comparison where nothing changes.
static int enter(pt_gpu *g) {
	if (g->stuck)
		return -(int)CUDA_ERROR_NOT_READY;
	if (g->context == NULL || current == g->id)
		return 0;
	CUresult r = g->cuCtxSetCurrent(g->context);
	if (r == CUDA_SUCCESS)
		current = g->id;
	return -(int)r;
}

#define PT_DEFINE(result, name, params, args) \
	result pt_##name(pt_gpu *g, PT_UNPACK params) { \
		int r = enter(g); \
		return r ? (result)r : g->name args; \
	}
PT_CUDA(PT_DEFINE)
PT_BLAS(PT_DEFINE)
PT_NCCL(PT_DEFINE)
#undef PT_DEFINE

size_t pt_cublasLtGetVersion(pt_gpu *g) { return g->cublasLtGetVersion(); }

void *pt_open(const char *path, char *found, size_t size, const char **error) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		*error = dlerror();
		return NULL;
	}
	struct link_map *map;
	char whole[PATH_MAX];
	const char *name = path;
	if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != 0)
		name = realpath(map->l_name, whole) ? whole : map->l_name;
	snprintf(found, size, "%s", name);
	return library;
}

#define PT_BIND(result, name, ...) \
	if ((*(void **)&g->name = dlsym(library, #name)) == NULL) \
		return #name;

const char *pt_bind_cuda(pt_gpu *g, void *library) {
	PT_CUDA(PT_BIND)
	return NULL;
}

const char *pt_bind_blas(pt_gpu *g, void *library) {
	PT_BLAS(PT_BIND)
	PT_BLAS_PLAIN(PT_BIND)
	return NULL;
}

const char *pt_bind_nccl(pt_gpu *g, void *library) {
	PT_NCCL(PT_BIND)
	PT_NCCL_PLAIN(PT_BIND)
	PT_BIND(, ncclGetLastError)
	return NULL;
}

void pt_set_context(pt_gpu *g, CUcontext context) {
	static uint64_t last;
	g->context = context;
	g->id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

CUresult pt_load(pt_gpu *g, CUmodule *module, const char *ptx, char *log, size_t size) {
	CUjit_option keys[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)size};
	return pt_cuModuleLoadDataEx(g, module, ptx, 2, keys, values);
}

CUresult pt_launch(pt_gpu *g, const pt_launch_config *c, void *args, size_t bytes) {
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, args, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
	return pt_cuLaunchKernel(g, (CUfunction)c->function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, (CUstream)c->stream, NULL, extra);
}

cublasStatus_t pt_matmul(pt_gpu *g, pt_product *p, const pt_operands *x) {
	return pt_cublasLtMatmul(g, p->handle, p->desc, &x->alpha, (void *)x->a, p->a, (void *)x->b, p->b,
		&x->beta, (void *)x->c, p->d, (void *)x->d, p->d, &p->algorithm, (void *)x->workspace, p->workspace, (CUstream)x->stream);
}

// The version that pt_connect claims to be compiled with: the first one that has
// ncclConfig_t as nvidia.h declares it.
enum { CONFIG_VERSION = 21400 };

ncclResult_t pt_connect(pt_gpu *g, ncclComm_t *comm, int ranks, const void *id, int rank) {
	ncclConfig_t config = {sizeof config, NCCL_API_MAGIC, CONFIG_VERSION, 0};
	ncclUniqueId copy;
	memcpy(&copy, id, sizeof copy);
	return pt_ncclCommInitRankConfig(g, comm, ranks, copy, rank, &config);
}

// collect queues one collective.
static ncclResult_t collect(pt_gpu *g, ncclComm_t comm, CUstream stream, const pt_collective *c, const char **call) {
	const void *send = (const void *)c->send;
	void *receive = (void *)c->receive;
	switch (c->kind) {
	case PT_ALL_REDUCE:
		*call = "ncclAllReduce";
		return g->ncclAllReduce(send, receive, c->count, c->type, ncclSum, comm, stream);
	case PT_REDUCE_SCATTER:
		*call = "ncclReduceScatter";
		return g->ncclReduceScatter(send, receive, c->count, c->type, ncclSum, comm, stream);
	case PT_ALL_GATHER:
		*call = "ncclAllGather";
		return g->ncclAllGather(send, receive, c->count, c->type, comm, stream);
	default:
		*call = "ncclBroadcast";
		return g->ncclBroadcast(send, receive, c->count, c->type, c->root, comm, stream);
	}
}

ncclResult_t pt_collect(pt_gpu *g, ncclComm_t comm, uintptr_t stream, const pt_collective *all, int n, const char **call) {
	int r = enter(g);
	if (r)
		return (ncclResult_t)r;
	*call = "ncclGroupStart";
	if ((r = g->ncclGroupStart()) != ncclSuccess)
		return r;
	for (int i = 0; i < n && r == ncclSuccess; i++)
		if ((r = collect(g, comm, (CUstream)stream, &all[i], call)) == ncclInProgress)
			r = ncclSuccess;
	const char *failed = *call;
	int end = g->ncclGroupEnd(); // also after an error: it ends this thread's group
	*call = r == ncclSuccess ? "ncclGroupEnd" : failed;
	return r == ncclSuccess ? end : r;
}

void pt_abort(pt_gpu *g, ncclComm_t comm) {
	enter(g); // if this fails, NCCL sets the context itself
	g->ncclCommAbort(comm);
}

const char *pt_last_error(pt_gpu *g) {
	const char *text = g->ncclGetLastError == NULL ? NULL : g->ncclGetLastError(NULL);
	return text == NULL ? "" : text;
}
