#ifndef PRETEXT_GPU_H
#define PRETEXT_GPU_H

#include "api.h"

#define PT_UNPACK(...) __VA_ARGS__

// A pt_gpu is the functions of the loaded libraries and the context of a device.
typedef struct pt_gpu {
	CUcontext context; // NULL: none yet, as for the functions that find devices
	uint64_t id;       // of the context, unique in the process
	int stuck;         // the GPU works without end: every call fails, since it could wait for that
#define PT_FIELD(result, name, params, args) result(*name) params;
	PT_CUDA(PT_FIELD)
	PT_BLAS(PT_FIELD)
	PT_NCCL(PT_FIELD)
#undef PT_FIELD
#define PT_FIELD(result, name) result (*name)(void);
	PT_BLAS_PLAIN(PT_FIELD)
	PT_NCCL_PLAIN(PT_FIELD)
#undef PT_FIELD
	const char *(*ncclGetLastError)(ncclComm_t comm);
} pt_gpu;

// For each function of the table one of the same name with pt_ before it, which
// makes the device's context current on this thread and calls it. If that fails
// it returns CUDA's error as a negative number.
#define PT_DECLARE(result, name, params, args) result pt_##name(pt_gpu *g, PT_UNPACK params);
PT_CUDA(PT_DECLARE)
PT_BLAS(PT_DECLARE)
PT_NCCL(PT_DECLARE)
#undef PT_DECLARE
#define PT_DECLARE(result, name) result pt_##name(pt_gpu *g);
PT_BLAS_PLAIN(PT_DECLARE)
#undef PT_DECLARE

// pt_open opens a library. It returns NULL and the loader's message on failure;
// found gets the file's path.
void *pt_open(const char *path, char *found, size_t size, const char **error);

// pt_bind_cuda, pt_bind_blas and pt_bind_nccl fill the table from a library. They
// return the name of the first function that the library lacks, NULL if there is
// none.
const char *pt_bind_cuda(pt_gpu *g, void *library);
const char *pt_bind_blas(pt_gpu *g, void *library);
const char *pt_bind_nccl(pt_gpu *g, void *library);

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

// pt_connect begins to create a communicator. It does not wait for the other ranks:
// ncclCommGetAsyncError says ncclInProgress until all have connected.
ncclResult_t pt_connect(pt_gpu *g, ncclComm_t *comm, int ranks, const void *id, int rank);

// The collectives. The values are those of device.CollectiveKind.
enum { PT_ALL_REDUCE, PT_REDUCE_SCATTER, PT_ALL_GATHER, PT_BROADCAST };

typedef struct {
	CUdeviceptr send, receive;
	size_t count; // elements, as NCCL counts them for this kind
	int kind, root;
	ncclDataType_t type;
} pt_collective;

// pt_collect queues n collectives as one group. A group belongs to a thread, and so
// it is one call. If a function fails, *call is its name.
ncclResult_t pt_collect(pt_gpu *g, ncclComm_t comm, uintptr_t stream, const pt_collective *all, int n, const char **call);

// pt_abort aborts and frees a communicator. The cause of the abort is the error that
// counts, so it returns none.
void pt_abort(pt_gpu *g, ncclComm_t comm);

// pt_last_error returns NCCL's description of the last error; "" if there is none.
const char *pt_last_error(pt_gpu *g);

#endif
