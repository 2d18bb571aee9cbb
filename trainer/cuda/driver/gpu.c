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
