#ifndef PRETEXT_GPU_H
#define PRETEXT_GPU_H

#include "api.h"

#define PT_UNPACK(...) __VA_ARGS__

// A pt_gpu is the functions of the loaded libraries and the context of a device.
typedef struct pt_gpu {
	CUcontext context; // NULL: none yet, as for the functions that find devices
	uint64_t id;       // of the context, unique in the process
#define PT_FIELD(result, name, params, args) result(*name) params;
	PT_CUDA(PT_FIELD)
	PT_BLAS(PT_FIELD)
#undef PT_FIELD
#define PT_FIELD(result, name) result (*name)(void);
	PT_BLAS_PLAIN(PT_FIELD)
#undef PT_FIELD
} pt_gpu;

// For each function of the table one of the same name with pt_ before it, which
// makes the device's context current on this thread and calls it. If that fails
// it returns CUDA's error as a negative number.
#define PT_DECLARE(result, name, params, args) result pt_##name(pt_gpu *g, PT_UNPACK params);
PT_CUDA(PT_DECLARE)
PT_BLAS(PT_DECLARE)
#undef PT_DECLARE
#define PT_DECLARE(result, name) result pt_##name(pt_gpu *g);
PT_BLAS_PLAIN(PT_DECLARE)
#undef PT_DECLARE

// pt_open opens a library. It returns NULL and the loader's message on failure;
// found gets the file's path.
void *pt_open(const char *path, char *found, size_t size, const char **error);

// pt_bind_cuda and pt_bind_blas fill the table from a library. They return the
// name of the first function that the library lacks, NULL if there is none.
const char *pt_bind_cuda(pt_gpu *g, void *library);
const char *pt_bind_blas(pt_gpu *g, void *library);

// pt_set_context gives g a context, and the context a number.
void pt_set_context(pt_gpu *g, CUcontext context);

// pt_load compiles PTX. What the compiler says goes to log.
CUresult pt_load(pt_gpu *g, CUmodule *module, const char *ptx, char *log, size_t size);

typedef struct {
	uintptr_t stream, function;
	unsigned int grid[3], block[3], shared;
} pt_launch_config;

// pt_launch queues a kernel with flat argument bytes.
CUresult pt_launch(pt_gpu *g, const pt_launch_config *c, void *args, size_t bytes);

// A pt_product is what cublasLtMatmul needs beside the operands.
typedef struct {
	cublasLtHandle_t handle;
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t a, b, d;
	cublasLtMatmulAlgo_t algorithm;
	size_t workspace; // bytes
} pt_product;

typedef struct {
	CUdeviceptr a, b, c, d, workspace;
	float alpha, beta;
	uintptr_t stream;
} pt_operands;

cublasStatus_t pt_matmul(pt_gpu *g, pt_product *p, const pt_operands *x);

#endif
